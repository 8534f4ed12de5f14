#include <cmath>

#include "backend/cpu/vector.hpp"
#include "catch.hpp"
#include "tests/backend/support.hpp"

using namespace paragrad::backend;
using namespace paragrad::backend::cpu;

namespace {

/// Largest relative difference of `mine` from `exact` over [from, to].
template <class Mine, class Exact>
double largest_error(double from, double to, const Mine& mine, const Exact& exact) {
  double largest = 0;
  const int steps = 400000;
  for (int i = 0; i <= steps; ++i) {
    const float x = static_cast<float>(from + (to - from) * i / steps);
    const double wanted = exact(static_cast<double>(x));
    const double error = wanted == 0 ? std::abs(mine(broadcast(x))[0]) : std::abs(mine(broadcast(x))[0] / wanted - 1);
    largest = std::max(largest, error);
  }
  return largest;
}

float exponential_of(float x) { return exponential(broadcast(x))[lanes - 1]; }

}  // namespace

TEST_CASE("the vectorised exponential is exact to 2e-7 over the whole range of float", "[backend]") {
  const auto exact = [](double x) { return std::exp(x); };
  CHECK(largest_error(-86.5, 88.72, exponential, exact) < 2e-7);
  CHECK(largest_error(-1, 1, exponential, exact) < 2e-7);
}

TEST_CASE("the vectorised sigmoid and tanh are exact to 4e-7", "[backend]") {
  const auto logistic = [](double x) { return 1 / (1 + std::exp(-x)); };
  const auto tangent = [](double x) { return std::tanh(x); };
  CHECK(largest_error(-80, 80, activate<Activation::sigmoid>, logistic) < 4e-7);
  CHECK(largest_error(-20, 20, activate<Activation::tanh>, tangent) < 4e-7);
  CHECK(largest_error(-0.7, 0.7, activate<Activation::tanh>, tangent) < 4e-7);
}

TEST_CASE("the vectorised exponential keeps the limits", "[backend]") {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(exponential_of(0) == 1);
  CHECK(exponential_of(-infinity) == 0);
  CHECK(exponential_of(-1e30f) == 0);
  CHECK(exponential_of(-87) == 0);
  CHECK(exponential_of(89) == infinity);
  CHECK(exponential_of(infinity) == infinity);
  CHECK(std::isnan(exponential_of(testing::not_a_number)));
  CHECK(activate<Activation::sigmoid>(broadcast(-200))[0] == 0);
  CHECK(activate<Activation::sigmoid>(broadcast(200))[0] == 1);
  CHECK(activate<Activation::tanh>(broadcast(-200))[0] == -1);
  CHECK(std::isnan(activate<Activation::tanh>(broadcast(testing::not_a_number))[0]));
}
