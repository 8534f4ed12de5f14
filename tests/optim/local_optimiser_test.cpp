#include "optim/local_optimiser.hpp"

#include <cmath>

#include "catch.hpp"
#include "core/errors.hpp"
#include "formulas.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::optim;
using namespace paragrad::optim::testing;

namespace {

// Drives an optimiser as backward does, range by range.
std::vector<float> descend(const std::string& name, float momentum, bool bare_gradient, float decay,
                           const char* device_name) {
  const auto device = backend::make_device(device_name);
  const auto optimiser = make_optimiser({.name = name, .has_momentum = momentum > 0}, *device, layout, bare_gradient);
  std::vector<float> w(count);
  for (std::size_t i = 0; i < count; ++i) w[i] = static_cast<float>(i) / 10;
  for (int step = 0; step < steps; ++step) {
    Step s = step_of(step);
    s.decay = decay;
    s.momentum = momentum;
    const auto g = optimiser->gradients();
    REQUIRE(g.size() == count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto fresh = static_cast<float>(gradient_of(step, i));
      g[i] = optimiser->keep(s) == 0 ? fresh : optimiser->keep(s) * g[i] + fresh;
    }
    optimiser->begin_step();
    if (optimiser->needs_all())
      optimiser->update(*device, {0, count}, s, w);
    else
      for (const core::Range range : {core::Range{20, count}, core::Range{0, 20}}) optimiser->update(*device, range, s, w);
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
  const std::string name = GENERATE(from_range(optimiser_catalogue().names()));
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
  const float lambda = 0.01f, together = 32;
  const std::vector<core::Matrix> two{{0, {2, 1}}};
  const auto with = make_optimiser({}, *device, two, true), without = make_optimiser({}, *device, two, true);
  std::vector<float> a{3, -4}, b = a;
  for (int step = 0; step < 4; ++step) {
    for (std::size_t i = 0; i < 2; ++i) {
      with->gradients()[i] = 1;
      without->gradients()[i] = 1 + lambda * together * b[i];
    }
    with->update(*device, {0, 2}, {0.1f, lambda * together, 0.5f}, a);
    without->update(*device, {0, 2}, {0.1f, 0, 0.5f}, b);
  }
  CHECK(a[0] == Approx(b[0]));
  CHECK(a[1] == Approx(b[1]));
}

TEST_CASE("Adam moves by its learning rate when gradients agree, however many samples and however large", "[optim]") {
  const auto device = backend::make_device("cpu");
  const float samples_of_minibatch = GENERATE(1.f, 64.f), size = GENERATE(1e-3f, 1.f, 1e3f);
  const std::vector<core::Matrix> one{{0, {1, 1}}};
  const auto optimiser = make_optimiser({.name = "adam"}, *device, one, false);
  std::vector<float> w{1};
  for (int step = 1; step <= 5; ++step) {
    optimiser->gradients()[0] = size * samples_of_minibatch;
    optimiser->begin_step();
    optimiser->update(*device, {0, 1}, {.rate = 0.001f / samples_of_minibatch, .samples = samples_of_minibatch}, w);
    CHECK(w[0] == Approx(1 - 0.001 * step).epsilon(2e-6));
  }
}

TEST_CASE("a matrix under LARS moves by a share of its norm whatever its gradient's size; its bias does not", "[optim]") {
  const auto device = backend::make_device("cpu");
  const float size = GENERATE(1e-6f, 1.f, 1e6f), n = GENERATE(1.f, 32.f);
  const std::vector<core::Matrix> two{{0, {2, 2}}, {4, {2, 1}}};
  const auto optimiser = make_optimiser({.name = "lars", .settings = {{"lars-trust", 0.01}}}, *device, two, false);
  std::vector<float> w{3, 0, 0, -4, 1, 1};  // norm 5
  const std::vector<float> direction{0, 0.6f, 0.8f, 0, 1, 0};
  for (std::size_t i = 0; i < 6; ++i) optimiser->gradients()[i] = n * size * direction[i];
  optimiser->update(*device, {0, 6}, {.rate = 0.5f / n, .samples = n}, w);
  CHECK(w[1] == Approx(-0.5 * 0.01 * 5 * 0.6));
  CHECK(w[2] == Approx(-0.5 * 0.01 * 5 * 0.8));
  CHECK(w[4] == Approx(1 - 0.5 * size));
  CHECK_THROWS_AS(optimiser->update(*device, {0, 4}, {}, w), std::logic_error);
  CHECK_THROWS_WITH(make_optimiser({.name = "lars", .settings = {{"lars-trust", 0}}}, *device, two, false),
                    contains_text("`lars-trust`: '0' is not a number above 0"));
}

TEST_CASE("L2 on weights moves matrices as L2 on all does, and vectors as none does", "[optim]") {
  const std::string name = GENERATE(from_range(optimiser_catalogue().names()));
  const bool by_parts = GENERATE(false, true);  // as the backward pass completes the gradient
  CAPTURE(name, by_parts);
  const auto device = backend::make_device("cpu");
  const std::vector<core::Matrix> layout{{0, {2, 3}}, {6, {2, 1}}, {8, {2, 1}}, {10, {1, 4}}, {14, {2, 1}, true}};
  const auto descend = [&](const std::string& l2_on, float decay) {
    const auto rule = make_optimiser({.name = name, .l2_on = l2_on}, *device, layout, true);
    std::vector<float> w(16);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = 1 + 0.1f * static_cast<float>(i);
    for (int step = 0; step < 3; ++step) {
      for (std::size_t i = 0; i < w.size(); ++i) rule->gradients()[i] = 0.3f - 0.05f * static_cast<float>(i);
      rule->begin_step();
      const optim::Step numbers{0.1f, decay, 0.9f, 1};
      if (by_parts && !rule->needs_all()) {
        rule->update(*device, {7, 16}, numbers, w);  // cuts a vector, and then a matrix
        rule->update(*device, {3, 7}, numbers, w);
        rule->update(*device, {0, 3}, numbers, w);
      } else {
        rule->update(*device, {0, 16}, numbers, w);
      }
    }
    return w;
  };
  const std::vector<float> weights = descend("weights", 0.25f), all = descend("all", 0.25f), none = descend("all", 0);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    CAPTURE(i);
    const bool vector = i >= 6 && i < 10;
    CHECK(weights[i] == (vector ? none[i] : all[i]));
  }
  CHECK(all != none);
  CHECK_THROWS_WITH(make_optimiser({.l2_on = "biases"}, *device, layout, true),
                    contains_text("biases") && contains_text("weights"));
}

TEST_CASE("LARS is momentum where a matrix or its gradient is zero", "[optim]") {
  const auto device = backend::make_device("cpu");
  const std::vector<core::Matrix> one{{0, {2, 2}}};
  const auto optimiser = make_optimiser({.name = "lars"}, *device, one, false);
  std::vector<float> w(4);
  for (float& g : optimiser->gradients()) g = 1;
  optimiser->update(*device, {0, 4}, {.rate = 0.5f, .momentum = 0.5f}, w);
  CHECK(w == std::vector<float>(4, -0.5f));
  for (float& g : optimiser->gradients()) g = 0;
  optimiser->update(*device, {0, 4}, {.rate = 0.5f, .momentum = 0.5f}, w);
  CHECK(w == std::vector<float>(4, -0.75f));
}

TEST_CASE("Adam resumed from its state continues with the same bits", "[optim]") {
  const auto device = backend::make_device("cpu");
  const std::vector<core::Matrix> one{{0, {1, 1}}};
  const auto first = make_optimiser({.name = "adam"}, *device, one, false),
             second = make_optimiser({.name = "adam"}, *device, one, false);
  std::vector<float> w{1}, other;
  for (int step = 0; step < 4; ++step) {
    if (step == 2) {
      core::StateView from, to;
      first->describe_state(from);
      second->describe_state(to);
      for (std::size_t i = 0; i < from.arrays.size(); ++i) to.arrays[i].values[0] = from.arrays[i].values[0];
      for (std::size_t i = 0; i < from.numbers.size(); ++i) to.numbers[i].set(from.numbers[i].get());
      other = w;
    }
    first->gradients()[0] = second->gradients()[0] = static_cast<float>(step + 1);
    first->begin_step();
    first->update(*device, {0, 1}, {.rate = 0.01f}, w);
    if (step < 2) continue;
    second->begin_step();
    second->update(*device, {0, 1}, {.rate = 0.01f}, other);
  }
  CHECK(w == other);
}

TEST_CASE("Adam's numbers out of range are refused", "[optim]") {
  const auto device = backend::make_device("cpu");
  const auto make = [&](const OptimiserOptions& options) { make_optimiser(options, *device, layout, false); };
  CHECK_THROWS_WITH(make({.name = "adam", .settings = {{"beta1", 1}}}),
                    contains_text("`beta1`: '1' is not a number from 0 to below 1"));
  CHECK_THROWS_AS(make({.name = "adamw", .settings = {{"beta2", -0.1}}}), core::ConfigError);
  CHECK_THROWS_AS(make({.name = "adam", .settings = {{"epsilon", 0}}}), core::ConfigError);
}

TEST_CASE("a rule shows what it remembers, and forgets it", "[optim]") {
  const auto device = backend::make_device("cpu");
  const auto remembered = [&](const OptimiserOptions& options, bool bare) {
    const auto optimiser = make_optimiser(options, *device, layout, bare);
    core::StateView state;
    optimiser->describe_state(state);
    std::size_t elements = 0;
    for (const auto& array : state.arrays) {
      elements += array.values.size();
      array.values[3] = 7;
    }
    for (const auto& number : state.numbers) number.set(7);
    optimiser->forget(*device);
    for (const auto& array : state.arrays) CHECK(array.values[3] == 0);
    for (const auto& number : state.numbers) CHECK(number.get() == 0);
    return elements;
  };
  CHECK(remembered({.name = "sgd"}, false) == 0);
  CHECK(remembered({.name = "momentum", .has_momentum = false}, false) == 0);
  for (const bool bare : {false, true}) CHECK(remembered({.name = "momentum"}, bare) == count);
  CHECK(remembered({.name = "nesterov"}, true) == count);
  CHECK(remembered({.name = "adam"}, false) == 2 * count);
  CHECK(remembered({.name = "lars"}, false) == count);
}

TEST_CASE("exchanged gradients do not hold the velocity, and change places with another arena", "[optim]") {
  const auto device = backend::make_device("cpu");
  for (const auto& name : optimiser_catalogue().names()) {
    const auto optimiser = make_optimiser({.name = name}, *device, layout, true);
    CHECK(optimiser->keep({.momentum = 0.9f}) == 0);
    core::Arena other = device->allocate(count);
    const float* before = optimiser->gradients().data();
    other.span()[5] = 2;
    optimiser->swap_gradients(other);
    CHECK(other.span().data() == before);
    CHECK(optimiser->gradients()[5] == 2);
  }
}

TEST_CASE("an unknown rule is refused by name", "[optim]") {
  const auto device = backend::make_device("cpu");
  REQUIRE_THROWS_WITH(make_optimiser({.name = "rprop"}, *device, layout, false),
                      contains_text("rprop") && contains_text("nesterov"));
}

TEST_CASE("no gradient, however small, and no weights of zero keep a rule from going on", "[optim]") {
  for (const core::EntryInfo& entry : optimiser_catalogue().entries)
    for (const float first : {0.f, 1e-44f, 1e-38f, 1e-30f, 1e15f})
      for (const float weight : {0.f, 1.f, 100.f}) {
        const auto device = backend::make_device("cpu");
        const auto rule = make_optimiser({.name = entry.name}, *device, layout, true);
        std::vector<float> w(count, weight);
        const auto step = [&](float gradient) {
          for (float& element : rule->gradients()) element = gradient;
          rule->begin_step();
          rule->update(*device, {0, count}, {.rate = 1e-3f, .momentum = 0.5f, .samples = samples}, w);
        };
        step(first);
        for (const float element : w) REQUIRE(std::isfinite(element));
        const std::vector<float> before = w;
        for (int i = 0; i < 500; ++i)
          step(first == 1e15f ? 1e15f : 1.f);  // after a huge one, means of squares take long to fall
        CAPTURE(entry.name, first, weight);
        for (std::size_t i = 0; i < count; ++i) {
          REQUIRE(std::isfinite(w[i]));
          REQUIRE(w[i] < before[i]);
        }
      }
}
