// slowmo, diloco and fed_adam against their formulas and against bmuf.
#include <algorithm>
#include <cmath>

#include "catch.hpp"
#include "tests/strategies/support.hpp"

using namespace paragrad;
using namespace paragrad::strategies::testing;

TEST_CASE("slowmo follows its formulas through changes of the learning rate", "[strategies]") {
  const int workers = GENERATE(1, 3);
  core::Settings options;
  options["collective"] = GENERATE("ring", "butterfly");
  options["slow-momentum"] = 0.6;
  options["slow-learning-rate"] = 0.8;
  const std::vector<double> rates{0.4, 0.4, 0.1, 0.1, 0.2};
  const auto parameters = after(workers, "slowmo", options, [&](comm::Worker& worker, StrategyHarness& harness) {
    for (std::size_t block = 0; block < rates.size(); ++block) {
      harness.replica->learning_rate = rates[block];
      move_by(harness, static_cast<float>(worker.rank() + 1) - static_cast<float>(block) / 2);
      harness.strategy->synchronise(worker, *harness.replica, static_cast<std::size_t>(worker.rank() + 1));
    }
  });
  double moved = 0;  // the mean update: ranks weigh rank + 1
  for (int rank = 0; rank < workers; ++rank) moved += 2. * (rank + 1) * (rank + 1) / (workers * (workers + 1));
  for (std::size_t i = 0; i < length; ++i) {
    double x = static_cast<double>(i), u = 0;
    for (std::size_t block = 0; block < rates.size(); ++block) {
      const double average = x + moved - static_cast<double>(block) / 2;
      u = 0.6 * u + (x - average) / rates[block];
      x -= 0.8 * rates[block] * u;
    }
    for (const auto& p : parameters) REQUIRE(p[i] == Approx(x).epsilon(1e-5));
  }
}

TEST_CASE("slowmo at a constant rate is bmuf with classical block momentum, bit for bit", "[strategies]") {
  core::Settings options;
  options["bmuf-kind"] = "cbm";
  options["block-momentum"] = options["slow-momentum"] = 0.7;
  options["block-learning-rate"] = options["slow-learning-rate"] = 0.9;
  const auto train = [&](const std::string& strategy) {
    return after(3, strategy, used_by(strategy, options), [&](comm::Worker& worker, StrategyHarness& harness) {
      harness.replica->learning_rate = 0.3;
      for (int block = 0; block < 4; ++block) {
        for (std::size_t i = 0; i < length; ++i)
          harness.parameters[i] += std::cos(static_cast<float>(i) + static_cast<float>(worker.rank() + 3 * block));
        harness.strategy->synchronise(worker, *harness.replica, 5);
      }
    });
  };
  CHECK(train("slowmo") == train("bmuf"));
}

TEST_CASE("fed_adam follows its formulas", "[strategies]") {
  const int workers = GENERATE(1, 2, 3);
  const core::Settings options{
      {"collective", GENERATE("ring", "butterfly")}, {"adaptive-learning-rate", 0.3}, {"adaptivity", 0.05}};
  const auto displacement = [](std::size_t i, int block) { return std::sin(static_cast<double>(i) + 3 * block); };
  const auto parameters = after(workers, "fed_adam", options, [&](comm::Worker& worker, StrategyHarness& harness) {
    harness.velocity()[3] = 5;
    for (int block = 0; block < 6; ++block) {
      for (std::size_t i = 0; i < length; ++i)
        harness.parameters[i] += static_cast<float>(displacement(i, block)) + static_cast<float>(worker.rank());
      harness.strategy->synchronise(worker, *harness.replica, 7);
    }
    CHECK(harness.velocity()[3] == 5);
  });
  for (std::size_t i = 0; i < length; ++i) {
    double x = static_cast<double>(i), m = 0, v = 0.05 * 0.05;
    for (int block = 0; block < 6; ++block) {
      const double d = displacement(i, block) + (workers - 1) / 2.;
      m = 0.9 * m + 0.1 * d;
      v = 0.99 * v + 0.01 * d * d;
      x += 0.3 * m / (std::sqrt(v) + 0.05);
    }
    for (const auto& p : parameters) REQUIRE(p[i] == Approx(x).epsilon(1e-5).margin(2e-5));
  }
}

TEST_CASE("diloco says which inner optimiser it has and which its paper uses", "[strategies]") {
  strategies::Extent extent{8, 64000, 4};
  extent.optimiser = "nesterov";
  CHECK(strategies::make_strategy("diloco", {})->explain(extent).lines ==
        std::vector<std::string>{"inner optimiser: nesterov; the paper uses adamw"});
  extent.optimiser = "adamw";
  CHECK(strategies::make_strategy("diloco", {})->explain(extent).lines ==
        std::vector<std::string>{"inner optimiser: adamw, as in the paper"});
}

TEST_CASE("diloco sets out from the points of bmuf's nbm, and keeps the local momentum", "[strategies]") {
  const int workers = GENERATE(1, 2, 3);
  core::Settings options;
  options["collective"] = GENERATE("ring", "butterfly");
  options["bmuf-kind"] = "nbm";
  options["block-momentum"] = options["outer-momentum"] = 0.85;
  options["block-learning-rate"] = options["outer-learning-rate"] = 0.6;
  const bool resets = GENERATE(false, true);
  options["reset-local-momentum"] = resets;
  const auto train = [&](const std::string& strategy) {
    return after(workers, strategy, used_by(strategy, options), [&](comm::Worker& worker, StrategyHarness& harness) {
      harness.velocity()[3] = 5;
      for (int block = 0; block < 6; ++block) {
        for (std::size_t i = 0; i < length; ++i)
          harness.parameters[i] += std::cos(static_cast<float>(i) + static_cast<float>(worker.rank() + 3 * block));
        harness.strategy->synchronise(worker, *harness.replica, static_cast<std::size_t>(worker.rank() + block % 2));
      }
      CHECK(harness.velocity()[3] == (strategy == "bmuf" && resets ? 0.f : 5.f));
    });
  };
  const auto diloco = train("diloco"), bmuf = train("bmuf");
  for (std::size_t k = 0; k < diloco.size(); ++k)
    for (std::size_t i = 0; i < length; ++i) REQUIRE(diloco[k][i] == Approx(bmuf[k][i]).epsilon(1e-5).margin(1e-5));
}

TEST_CASE("diloco's momentum is zero again after every K outer steps, which its state counts", "[strategies]") {
  const int workers = GENERATE(1, 3), restart = GENERATE(1, 2, 3);
  const core::Settings options{{"outer-restart", restart}, {"outer-learning-rate", 0.6}, {"outer-momentum", 0.8}};
  const auto step_of = [](std::size_t i, int block) { return std::cos(static_cast<double>(i) + 2 * block); };
  const auto parameters = after(workers, "diloco", options, [&](comm::Worker& worker, StrategyHarness& harness) {
    for (int block = 0; block < 7; ++block) {
      for (std::size_t i = 0; i < length; ++i) harness.parameters[i] += static_cast<float>(step_of(i, block));
      harness.strategy->synchronise(worker, *harness.replica, 1);
    }
    core::StateView state;
    harness.strategy->describe_state(state);
    CHECK(std::ranges::any_of(state.numbers, [](const auto& one) { return one.name == "outer_steps" && one.get() == 7; }));
  });
  for (std::size_t i = 0; i < length; ++i) {
    double x = static_cast<double>(i), v = 0;
    for (int block = 0; block < 7; ++block) {
      v = (block % restart == 0 ? 0 : 0.8 * v) - step_of(i, block);
      x -= 0.6 * (-step_of(i, block) + 0.8 * v);
    }
    for (const auto& p : parameters) REQUIRE(p[i] == Approx(x).epsilon(1e-5).margin(1e-5));
  }
}
