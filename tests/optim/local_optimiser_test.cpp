#include "optim/local_optimiser.hpp"

#include <cmath>

#include "catch.hpp"
#include "core/errors.hpp"
#include "core/philox.hpp"

using namespace paragrad;
using namespace paragrad::optim;

namespace {

constexpr std::size_t count = 37;
constexpr int steps = 6;

double gradient_of(int step, std::size_t i) {
  return core::RandomStream(1, core::Purpose::generator, static_cast<std::uint32_t>(step)).normal(i);
}
Step step_of(int step) { return {step < 3 ? 0.1f : 0.05f, 0.f}; }

// Drives an optimiser as backward does, range by range.
std::vector<float> descend(const std::string& name, float momentum, bool bare_gradient, float decay,
                           const char* device_name) {
  const auto device = backend::make_device(device_name);
  const auto optimiser = make_optimiser(name, *device, count, momentum, bare_gradient);
  std::vector<float> w(count);
  for (std::size_t i = 0; i < count; ++i) w[i] = static_cast<float>(i) / 10;
  for (int step = 0; step < steps; ++step) {
    const auto g = optimiser->gradients();
    REQUIRE(g.size() == count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto fresh = static_cast<float>(gradient_of(step, i));
      g[i] = optimiser->keep() == 0 ? fresh : optimiser->keep() * g[i] + fresh;
    }
    Step s = step_of(step);
    s.decay = decay;
    for (const core::Range range : {core::Range{20, count}, core::Range{0, 20}}) optimiser->update(*device, range, s, w);
  }
  return w;
}

// The formulas, in double.
std::vector<double> formula(const std::string& name, double momentum, double decay) {
  std::vector<double> w(count), v(count);
  for (std::size_t i = 0; i < count; ++i) w[i] = static_cast<double>(i) / 10;
  for (int step = 0; step < steps; ++step)
    for (std::size_t i = 0; i < count; ++i) {
      const double g = gradient_of(step, i) + decay * w[i];
      const double rate = step_of(step).rate;
      v[i] = momentum * v[i] + g;
      w[i] -= rate * (name == "sgd" ? g : name == "momentum" ? v[i] : g + momentum * v[i]);
    }
  return w;
}

template <class T>
double distance(const std::vector<float>& a, const std::vector<T>& b) {
  double result = 0;
  for (std::size_t i = 0; i < count; ++i) result = std::max(result, std::abs(double{a[i]} - static_cast<double>(b[i])));
  return result;
}

}  // namespace

TEST_CASE("every rule follows its formula, with and without L2, on every device", "[optim]") {
  const std::string name = GENERATE(from_range(optimiser_names()));
  const float momentum = GENERATE(0.f, 0.9f);
  const float decay = GENERATE(0.f, 0.25f);  // samples times lambda
  const bool bare_gradient = GENERATE(false, true);
  const std::string device = GENERATE("reference", "cpu");
  CAPTURE(name, momentum, decay, bare_gradient, device);
  CHECK(distance(descend(name, momentum, bare_gradient, decay, device.c_str()), formula(name, momentum, decay)) < 5e-6);
}

TEST_CASE("momentum accumulated in place equals momentum with the gradient apart", "[optim]") {
  CHECK(distance(descend("momentum", 0.9f, false, 0.1f, "cpu"), descend("momentum", 0.9f, true, 0.1f, "cpu")) < 2e-6);
}

TEST_CASE("momentum zero is plain descent", "[optim]") {
  const bool bare_gradient = GENERATE(false, true);
  CHECK(distance(descend("momentum", 0, bare_gradient, 0, "cpu"), descend("sgd", 0, bare_gradient, 0, "cpu")) < 1e-6);
}

TEST_CASE("L2 on a minibatch equals the sum of its samples' penalties in the gradient", "[optim]") {
  const auto device = backend::make_device("cpu");
  const float lambda = 0.01f, samples = 32;
  const auto with = make_optimiser("momentum", *device, 2, 0.5f, true);
  const auto without = make_optimiser("momentum", *device, 2, 0.5f, true);
  std::vector<float> a{3, -4}, b = a;
  for (int step = 0; step < 4; ++step) {
    for (std::size_t i = 0; i < 2; ++i) {
      with->gradients()[i] = 1;
      without->gradients()[i] = 1 + lambda * samples * b[i];
    }
    with->update(*device, {0, 2}, {0.1f, lambda * samples}, a);
    without->update(*device, {0, 2}, {0.1f, 0}, b);
  }
  CHECK(a[0] == Approx(b[0]));
  CHECK(a[1] == Approx(b[1]));
}

TEST_CASE("a rule shows what it remembers", "[optim]") {
  const auto device = backend::make_device("cpu");
  CHECK(make_optimiser("sgd", *device, 5, 0, false)->velocity().empty());
  for (const bool bare : {false, true}) CHECK(make_optimiser("momentum", *device, 5, 0.9f, bare)->velocity().size() == 5);
  CHECK(make_optimiser("nesterov", *device, 5, 0.9f, true)->velocity().size() == 5);
  // Exchanged gradients must not hold the velocity.
  for (const auto& name : optimiser_names()) CHECK(make_optimiser(name, *device, 5, 0.9f, true)->keep() == 0);
}

TEST_CASE("an unknown rule and a momentum that diverges are refused", "[optim]") {
  const auto device = backend::make_device("cpu");
  REQUIRE_THROWS_WITH(make_optimiser("adam", *device, 1, 0, false), contains_text("adam") && contains_text("nesterov"));
  for (const float momentum : {-0.1f, 1.f, 2.f, std::nanf("")})
    CHECK_THROWS_AS(make_optimiser("momentum", *device, 1, momentum, false), core::ConfigError);
}
