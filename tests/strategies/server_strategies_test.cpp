#include <algorithm>
#include <array>
#include <map>
#include <ranges>

#include "catch.hpp"
#include "tests/strategies/server_support.hpp"

using namespace paragrad;
using namespace paragrad::strategies;
using namespace paragrad::strategies::testing;

TEST_CASE("under bounded staleness nobody who fetches is further ahead of the slowest than the bound", "[strategies]") {
  const std::size_t bound = GENERATE(0u, 1u, 3u);
  const int servers = GENERATE(0, 2);
  const std::uint64_t seed = GENERATE(range(1, 6));
  ServerRun run;
  run.strategy = "bounded_staleness";
  run.workers = 4;
  run.options["servers"] = servers;
  run.options["staleness-bound"] = bound;
  run.options["prefetch"] = seed % 2 == 0;
  const std::uint64_t minibatches = 12;
  run.run([&](comm::Worker& worker, StrategyHarness& harness) {
    for (std::uint64_t i = 0; i < minibatches - static_cast<std::uint64_t>(worker.rank()); ++i) {  // of unequal length
      compute(worker, i, seed);
      if (worker.rank() == 2) compute(worker, i + 100, seed);
      step(worker, harness, 1);
    }
  });
  bool reached = false;
  for (const auto& events : run.orders) {
    std::map<int, std::size_t> pushes{{0, 0}, {1, 0}, {2, 0}, {3, 0}};
    for (const Event& event : events) {
      if (event.kind == Event::Kind::push) ++pushes[event.worker];
      if (event.kind == Event::Kind::meet) pushes.erase(event.worker);
      if (event.kind != Event::Kind::fetch) continue;
      for (const auto& [worker, count] : pushes) {
        CHECK(pushes[event.worker] <= count + bound);
        reached |= pushes[event.worker] == count + bound;
      }
    }
  }
  CHECK(reached);
}

TEST_CASE("a gradient's rate is divided by its staleness, where that is above one", "[strategies]") {
  ServerRun run;
  run.strategy = "staleness_scaled";
  run.options["servers"] = 1;
  run.run([&](comm::Worker& worker, StrategyHarness& harness) {
    for (std::uint64_t i = 0; i < 15; ++i) {
      compute(worker, i, 3);
      step(worker, harness, 1);
    }
  });
  double moved = 0, version = 0;
  for (const Event& event : run.orders[0])
    if (event.kind == Event::Kind::push) moved += 1 / std::max(1., version++ - static_cast<double>(event.version));
  CHECK(moved < 45);
  CHECK(run.parameters[1][0] == Approx(-moved).epsilon(1e-5));
}

TEST_CASE("lazy workers push what is significant, and the rest in the end", "[strategies]") {
  const auto pushes = [](double threshold, std::size_t most) {
    ServerRun run;
    run.strategy = "lazy_sgd";
    run.options["lazy-threshold"] = threshold;
    run.options["lazy-minibatches"] = most;
    run.run([&](comm::Worker& worker, StrategyHarness& harness) {
      for (std::uint64_t i = 0; i < 24; ++i) step(worker, harness, 1.f / 64);
    });
    CHECK(run.parameters[0][0] == Approx(-72. / 64));
    return run.numbers.at("pushes") / 3 / 3;  // per shard and worker
  };
  CHECK(pushes(0, 8) == 24);
  CHECK(pushes(1e9, 8) == 3);
  CHECK(pushes(1e9, 5) == 5);             // four times five, and what is left
  const double some = pushes(0.001, 24);  // |w| is about 126, a step sqrt(37)/64
  CHECK(some < 24);
  CHECK(some > 1);
}

TEST_CASE("an update waits for all but the backup workers, and what comes later is dropped", "[strategies]") {
  const int backup = GENERATE(0, 1, 2), servers = GENERATE(0, 1);
  const std::uint64_t seed = GENERATE(range(1, 6));
  CAPTURE(backup, servers, seed);
  ServerRun run;
  run.strategy = "backup_workers";
  run.workers = 4;
  run.options["servers"] = servers;
  run.options["backup-workers"] = backup;
  run.run([&](comm::Worker& worker, StrategyHarness& harness) {
    for (std::uint64_t i = 0; i < 10; ++i) {
      compute(worker, i, seed);
      step(worker, harness, 1);
    }
  });
  std::uint64_t version = 0;
  int taken = 0, dropped = 0, all = 0, left = 4;
  const auto update = [&] {
    if (taken > 0 && taken >= std::min(4 - backup, left)) taken = 0, ++version;
  };
  for (const Event& event : run.orders[0]) {
    if (event.kind == Event::Kind::fetch) CHECK(event.version == version);
    if (event.kind == Event::Kind::push) {
      CHECK(event.version <= version);
      event.version == version ? ++taken, ++all : ++dropped;
    }
    if (event.kind == Event::Kind::meet) --left;
    update();
  }
  CHECK(all + dropped == 40);
  CHECK((backup == 0) == (dropped == 0));
  CHECK(run.numbers.at("pushes") == all);
  CHECK(run.numbers.at("staleness_max") == 0);
  for (const auto& parameters : run.parameters) CHECK(parameters[5] == static_cast<float>(5 - all));
}

TEST_CASE("gradients that are applied together count with all their samples and the decay of all", "[strategies]") {
  const optim::OptimiserOptions rule{.name = GENERATE("sgd", "adagrad")};
  const bool at_server = GENERATE(true, false);  // of three workers; else of three minibatches of one
  CAPTURE(rule.name, at_server);
  const auto set = [](optim::Step& step, std::span<float> gradients, std::size_t part) {
    for (std::size_t i = 0; i < length; ++i) gradients[i] = static_cast<float>((i + part) % 4);
    step = {.rate = 0.5, .decay = 0.125f * static_cast<float>(1 << part), .samples = static_cast<float>(1 << part)};
  };
  ServerRun run;
  run.strategy = at_server ? "backup_workers" : "async_sgd";
  run.workers = at_server ? 3 : 1;
  run.context.server.rule = rule;
  run.options["servers"] = 1;
  if (at_server)
    run.options["backup-workers"] = 0;
  else
    run.options["push-every"] = 3;
  run.run([&](comm::Worker& worker, StrategyHarness& harness) {
    for (std::size_t i = 0; i < (at_server ? 1 : 3); ++i) {
      set(harness.replica->step, harness.optimiser->gradients(), at_server ? static_cast<std::size_t>(worker.rank()) : i);
      harness.exchange().step(worker, *harness.replica);
    }
  });
  std::vector<float> expected;
  sim::run(1, [&](comm::Worker& worker) {
    StrategyHarness harness(worker, "sgd", {}, rule);
    std::vector<float> sum(length);
    for (std::size_t part = 0; part < 3; ++part) {
      set(harness.replica->step, harness.optimiser->gradients(), part);
      for (std::size_t i = 0; i < length; ++i) sum[i] += harness.optimiser->gradients()[i];
    }
    std::ranges::copy(sum, harness.optimiser->gradients().begin());
    harness.replica->step.decay = 0.125f * 7;
    harness.replica->step.samples = 7;
    harness.optimiser->update(worker.device(), {0, length}, harness.replica->step, harness.parameters);
    expected = harness.parameters;
  });
  CHECK(run.parameters[0] == expected);
}

TEST_CASE("what a server strategy remembers goes with its state: held versions, and minibatches since the last pull",
          "[strategies]") {
  ServerRun run;
  run.workers = 1;
  run.options["servers"] = GENERATE(0, 1);
  std::vector<std::vector<float>> arrays;
  std::vector<double> numbers;
  const auto state_of = [](comm::Worker& worker, StrategyHarness& harness) {
    harness.served().collect_state(worker, *harness.replica);
    core::StateView state;
    harness.strategy->describe_state(state);
    return state;
  };
  const auto steps = [](comm::Worker& worker, StrategyHarness& harness, int count) {
    for (int i = 0; i < count; ++i) step(worker, harness, 1);
  };
  const auto interrupted_after = [&](int before, int after) {
    run.run([&](comm::Worker& worker, StrategyHarness& harness) {
      steps(worker, harness, before);
      const core::StateView state = state_of(worker, harness);
      for (const auto& array : state.arrays) arrays.emplace_back(array.values.begin(), array.values.end());
      for (const auto& number : state.numbers) numbers.push_back(number.get());
    });
    run.run([&](comm::Worker& worker, StrategyHarness& harness) {
      const core::StateView state = state_of(worker, harness);
      REQUIRE(state.arrays.size() == arrays.size());
      REQUIRE(state.numbers.size() == numbers.size());
      for (std::size_t i = 0; i < arrays.size(); ++i) std::ranges::copy(arrays[i], state.arrays[i].values.begin());
      for (std::size_t i = 0; i < numbers.size(); ++i) state.numbers[i].set(numbers[i]);
      harness.served().spread_state(worker, *harness.replica);
      steps(worker, harness, after);
    });
  };
  SECTION("the first gradient after a resume is as stale as it would have been") {
    interrupted_after(5, 3);
    CHECK(run.numbers.at("staleness_max") == 0);
    CHECK(run.parameters[0][7] == 7 - 8);
  }
  SECTION("easgd pulls after as many minibatches") {
    run.strategy = "easgd";
    run.options["push-every"] = 4;
    interrupted_after(2, 2);
    const auto kinds = run.orders[0] | std::views::transform(&Event::kind);
    CHECK(std::ranges::count(kinds, Event::Kind::push) == 1);
  }
}

TEST_CASE("worker and centre pull at each other as published", "[strategies]") {
  const std::size_t period = GENERATE(1u, 3u);
  const int servers = GENERATE(0, 1), workers = 2;
  ServerRun run;
  run.strategy = "easgd";
  run.workers = workers;
  run.options["servers"] = servers;
  run.options["push-every"] = period;
  const double given = GENERATE(0.25, 0.), rate = given > 0 ? given : 0.9 / workers;
  run.options["elastic-rate"] = given;
  std::array<double, 2> own{};
  double centre = 0;
  run.run([&](comm::Worker& worker, StrategyHarness& harness) {
    for (std::size_t i = 0; i < 6; ++i) {
      if (worker.rank() == 1) compute(worker, i, 1), compute(worker, i, 2), compute(worker, i, 3);
      step(worker, harness, static_cast<float>(worker.rank() + 1));
    }
    harness.strategy->show_model(worker, *harness.replica);
    const float shown = harness.parameters[0];
    harness.strategy->resume_work(worker, *harness.replica);
    own[static_cast<std::size_t>(worker.rank())] = harness.parameters[0];
    if (worker.rank() == 0) centre = shown;
  });
  std::array<double, 2> x{}, fetched{};
  double c = 0;
  std::array<std::size_t, 2> steps{};
  for (const Event& event : run.orders[0]) {
    const auto k = static_cast<std::size_t>(event.worker);
    if (event.kind == Event::Kind::fetch) {
      fetched[k] = c;
      x[k] -= static_cast<double>(period) * static_cast<double>(k + 1);
      steps[k] += period;
    }
    if (event.kind == Event::Kind::push) {
      const double pull = rate * (x[k] - fetched[k]);
      x[k] -= pull;
      c += pull;
    }
  }
  CHECK(steps[0] == 6);
  CHECK(centre == Approx(c).epsilon(1e-5));
  CHECK(run.parameters[0][0] == Approx(c).epsilon(1e-5));
  for (std::size_t k = 0; k < 2; ++k) CHECK(own[k] == Approx(x[k]).epsilon(1e-5));
}
