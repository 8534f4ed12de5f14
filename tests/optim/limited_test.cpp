// Limits around update rules: clipped gradients, norms of weights.
#include <cmath>

#include "catch.hpp"
#include "core/errors.hpp"
#include "core/philox.hpp"
#include "optim/local_optimiser.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::optim;
using namespace paragrad::optim::testing;

namespace {

std::vector<float> numbers(std::uint32_t stream, double size) {
  const core::RandomStream random(3, core::Purpose::generator, stream);
  std::vector<float> result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = static_cast<float>(size * random.normal(i));
  return result;
}

double norm(std::span<const float> x) {
  double sum = 0;
  for (const float value : x) sum += double{value} * double{value};
  return std::sqrt(sum);
}

/// What a rule takes in under these limits.
std::vector<float> clipped(std::vector<float> gradient, const OptimiserOptions& options) {
  const double limit = options.clip_per_sample * double{samples};
  if (options.clip == "truncate")
    for (float& g : gradient) g = static_cast<float>(std::min(limit, std::max(-limit, double{g})));
  else if (options.clip == "global")
    for (const double length = norm(gradient); float& g : gradient) g *= static_cast<float>(std::min(1., limit / length));
  else
    for (const core::Matrix& matrix : layout) {
      const auto part = matrix.range().of(std::span(gradient));
      const double length = norm(part);
      for (float& g : part) g *= static_cast<float>(std::min(1., limit / length));
    }
  return gradient;
}

struct Trained {
  std::vector<float> parameters = numbers(100, 1);
  std::unique_ptr<backend::Device> device;
  std::unique_ptr<LocalOptimiser> rule;

  Trained(const OptimiserOptions& options, const char* name)
      : device(backend::make_device(name)), rule(make_optimiser(options, *device, layout, false)) {}

  void step(const std::vector<float>& gradient) {
    const Step step{.rate = 0.01f, .decay = 0.02f, .momentum = 0.9f, .samples = samples};
    const auto into = rule->gradients();
    for (std::size_t i = 0; i < count; ++i)
      into[i] = rule->keep(step) == 0 ? gradient[i] : rule->keep(step) * into[i] + gradient[i];
    rule->begin_step();
    if (rule->needs_all())
      rule->update(*device, {0, count}, step, parameters);
    else
      for (const core::Range range : {core::Range{20, count}, core::Range{0, 20}})
        rule->update(*device, range, step, parameters);
  }
};

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double result = 0;
  for (std::size_t i = 0; i < count; ++i) result = std::max(result, std::abs(double{a[i]} - double{b[i]}));
  return result;
}

}  // namespace

TEST_CASE("a rule with clipping takes in what the same rule does of gradients clipped before", "[optim]") {
  OptimiserOptions options;
  options.name = GENERATE(from_range(optimiser_catalogue().names()));
  const char* device = GENERATE("reference", "cpu");
  OptimiserOptions limits = options;
  limits.clip = GENERATE("truncate", "norm", "global");
  limits.clip_per_sample = 0.3;
  CAPTURE(options.name, device, limits.clip);
  Trained plain(options, device), limited(limits, device);
  for (std::uint32_t step = 0; step < 5; ++step) {
    const auto gradient = numbers(step, step == 2 ? 1e6 : 1);
    limited.step(gradient);
    plain.step(clipped(gradient, limits));
  }
  CHECK(distance(limited.parameters, plain.parameters) < 1e-6);
}

TEST_CASE("a threshold that no gradient reaches changes nothing", "[optim]") {
  OptimiserOptions options;
  options.name = GENERATE("sgd", "nesterov", "adam", "lars");
  OptimiserOptions limits = options;
  limits.clip = GENERATE("truncate", "norm", "global");
  limits.clip_per_sample = 1e9;
  Trained plain(options, "cpu"), limited(limits, "cpu");
  for (std::uint32_t step = 0; step < 3; ++step) {
    plain.step(numbers(step, 1));
    limited.step(numbers(step, 1));
  }
  CHECK(limited.parameters == plain.parameters);
}

TEST_CASE("clipping leaves what is no number as it is, so that it is noticed", "[optim]") {
  OptimiserOptions options;
  options.name = "sgd";
  options.clip_per_sample = 0.1;
  options.clip = GENERATE("truncate", "norm", "global");
  Trained limited(options, "cpu");
  auto gradient = numbers(1, 1);
  gradient[3] = std::numeric_limits<float>::quiet_NaN();
  limited.step(gradient);
  CHECK(std::isnan(limited.parameters[3]));
}

TEST_CASE("after an update each unit's weights are the rule's, scaled back to the largest norm", "[optim]") {
  OptimiserOptions options;
  options.name = GENERATE(from_range(optimiser_catalogue().names()));
  OptimiserOptions limits = options;
  limits.max_norm = GENERATE(0.5, 1.3, 100.);
  CAPTURE(options.name, limits.max_norm);
  Trained limited(limits, "cpu"), plain(options, "cpu");
  limited.step(numbers(1, 1));
  plain.step(numbers(1, 1));
  for (std::size_t row = 0; row < 17; ++row) {
    const double length = std::hypot(plain.parameters[row], plain.parameters[17 + row]);
    for (const std::size_t i : {row, 17 + row})
      plain.parameters[i] *= static_cast<float>(std::min(1., limits.max_norm / length));
  }
  CHECK(distance(limited.parameters, plain.parameters) < 2e-6);
  for (std::uint32_t step = 2; step < 5; ++step) {
    limited.step(numbers(step, 1));
    for (std::size_t row = 0; row < 17; ++row)
      CHECK(std::hypot(limited.parameters[row], limited.parameters[17 + row]) <= limits.max_norm * (1 + 1e-6));
  }
}

TEST_CASE("a device that only counts says of limits what they cost, whatever the gradient", "[optim]") {
  OptimiserOptions options;
  options.clip_per_sample = 0.3;
  options.clip = GENERATE("truncate", "norm", "global");
  options.max_norm = GENERATE(0., 1.);
  const auto cost = [&](const char* name, double size) {
    Trained limited(options, name);
    const auto before = limited.device->meter();
    if (limited.device->computes())
      limited.step(numbers(1, size));
    else if (limited.rule->needs_all())
      limited.rule->update(*limited.device, {0, count}, {.decay = 0.02f, .momentum = 0.9f}, limited.parameters);
    else
      for (const core::Range range : {core::Range{20, count}, core::Range{0, 20}})
        limited.rule->update(*limited.device, range, {.decay = 0.02f, .momentum = 0.9f}, limited.parameters);
    auto work = limited.device->meter();
    return work -= before;
  };
  CHECK(cost("meta", 1) == cost("cpu", 1));
  CHECK(cost("cpu", 1e-3) == cost("cpu", 1e3));
}

TEST_CASE("limits that are none are refused in one sentence", "[optim]") {
  const auto device = backend::make_device("cpu");
  OptimiserOptions options;
  SECTION("a threshold below zero") { options.clip_per_sample = -1; }
  SECTION("an infinite one") { options.clip_per_sample = std::numeric_limits<double>::infinity(); }
  SECTION("a norm below zero") { options.max_norm = -0.1; }
  SECTION("another way") { options.clip = "halve"; }
  CHECK_THROWS_AS(make_optimiser(options, *device, layout, false), core::ConfigError);
}
