#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/cpu/vector.hpp"
#include "backend/kernels/activate.hpp"
#include "backend/kernels/activation_gradient.hpp"
#include "catch.hpp"
#include "tests/backend/support.hpp"

using namespace paragrad::backend;
using namespace paragrad::backend::cpu;

namespace {

// Scalar faces: one lane stands for all. Not inlined: GCC 12 crashes where it folds AVX-512 code over constants.
[[gnu::noinline]] float exponential_of(float x) { return exponential(broadcast(x))[lanes - 1]; }
[[gnu::noinline]] float sigmoid_of(float x) { return activate<Activation::sigmoid>(broadcast(x))[0]; }
[[gnu::noinline]] float tanh_of(float x) { return activate<Activation::tanh>(broadcast(x))[0]; }

/// Largest relative difference of `mine` from `exact` over [from, to].
double largest_error(double from, double to, float (*mine)(float), double (*exact)(double)) {
  double largest = 0;
  const int steps = 400000;
  for (int i = 0; i <= steps; ++i) {
    const float x = static_cast<float>(from + (to - from) * i / steps);
    const double wanted = exact(static_cast<double>(x));
    const double difference = std::abs(static_cast<double>(mine(x)) - wanted);
    largest = std::max(largest, wanted == 0 ? difference : difference / std::abs(wanted));
  }
  return largest;
}

double exact_exponential(double x) { return std::exp(x); }
double exact_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double exact_tanh(double x) { return std::tanh(x); }

}  // namespace

TEST_CASE("the vectorised exponential is exact to 2e-7 over the whole range of float", "[backend]") {
  CHECK(largest_error(-86.5, 88.72, exponential_of, exact_exponential) < 2e-7);
  CHECK(largest_error(-1, 1, exponential_of, exact_exponential) < 2e-7);
}

TEST_CASE("the vectorised sigmoid and tanh are exact to 4e-7", "[backend]") {
  CHECK(largest_error(-80, 80, sigmoid_of, exact_sigmoid) < 4e-7);
  CHECK(largest_error(-20, 20, tanh_of, exact_tanh) < 4e-7);
  CHECK(largest_error(-0.7, 0.7, tanh_of, exact_tanh) < 4e-7);
}

TEST_CASE("GELU, SiLU and their slopes on the cpu are exact to 1e-6", "[backend]") {
  const auto device = make_device("cpu");
  std::vector<float> z, ones;
  for (int i = 0; i <= 480'007; ++i) z.push_back(static_cast<float>(-12 + 24 * i / 480'007.));
  ones.assign(z.size(), 1);
  std::vector<float> y(z.size()), slopes(z.size());
  for (const Activation f : {Activation::gelu, Activation::silu}) {
    device->run(Activate{f, z, y});
    device->run(ActivationGradient{f, z, ones, 0, slopes});
    double value_error = 0, slope_error = 0;
    for (std::size_t i = 0; i < z.size(); ++i) {
      const double at = static_cast<double>(z[i]), size = std::max(1., std::abs(at));
      value_error = std::max(value_error, std::abs(static_cast<double>(y[i]) - activate(f, at)) / size);
      slope_error = std::max(slope_error, std::abs(static_cast<double>(slopes[i]) - slope(f, at)));
    }
    CAPTURE(activation_name(f));
    CHECK(value_error < 2e-7);
    CHECK(slope_error < 1e-6);  // 1 - σ(z) is multiplied by z
  }
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
  CHECK(sigmoid_of(-200) == 0);
  CHECK(sigmoid_of(200) == 1);
  CHECK(tanh_of(-200) == -1);
  CHECK(std::isnan(tanh_of(testing::not_a_number)));
}
