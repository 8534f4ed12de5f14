#include <algorithm>
#include <map>
#include <memory>
#include <ranges>
#include <utility>

#include "catch.hpp"
#include "core/errors.hpp"
#include "strategies/parameter_server/server.hpp"
#include "strategies/parameter_server/shard.hpp"
#include "tests/strategies/server_support.hpp"

using namespace paragrad;
using namespace paragrad::strategies;
using namespace paragrad::strategies::testing;

namespace {

/// Whether servers let fetches wait, so that there are no windows.
bool lets_wait(const std::string& strategy) { return strategy == "bounded_staleness" || strategy == "backup_workers"; }

}  // namespace

TEST_CASE("shards cover the parameters in their order and tear no column apart", "[strategies]") {
  const std::size_t count = GENERATE(1u, 2u, 3u, 7u, 40u);
  const std::vector<core::Matrix> layout{{0, {5, 4}}, {20, {5, 1}}, {25, {3, 5}}, {40, {3, 1}}};
  const auto shards = cut_into_shards(layout, 43, count);
  REQUIRE(shards.size() == count);
  std::size_t end = 0;
  for (const core::Range shard : shards) {
    CHECK(shard.begin == end);
    end = shard.end;
    if (end < 20) CHECK(end % 5 == 0);
    if (end > 25 && end < 40) CHECK((end - 25) % 3 == 0);
  }
  CHECK(end == 43);
}

TEST_CASE("every gradient moves the model once, and all end with the same model", "[strategies]") {
  const std::string name = GENERATE("async_sgd", "bounded_staleness", "lazy_sgd");
  const int servers = GENERATE(0, 1, 2);
  const bool prefetch = GENERATE(false, true);
  const std::size_t push_every = GENERATE(1u, 3u), fetch_every = GENERATE(1u, 2u);
  const std::string transport = GENERATE("messages", "windows");
  if (transport == "windows" && lets_wait(name)) return;
  CAPTURE(name, servers, prefetch, push_every, fetch_every, transport);
  ServerRun run;
  run.options["server-transport"] = transport;
  run.strategy = name;
  run.options["servers"] = servers;
  run.options["prefetch"] = prefetch;
  run.options["push-every"] = push_every;
  run.options["fetch-every"] = fetch_every;
  const int epochs = 2, minibatches = 7;
  float sum = 0;  // whole numbers: exact in any order
  for (int worker = 0; worker < run.workers; ++worker)
    for (int i = 0; i < epochs * (minibatches + worker); ++i) sum += static_cast<float>(1 << (i % 4 + worker));
  run.run([&](comm::Worker& worker, StrategyHarness& harness) {
    for (int epoch = 0, i = 0; epoch < epochs; ++epoch) {
      for (int minibatch = 0; minibatch < minibatches + worker.rank(); ++minibatch, ++i) {
        compute(worker, static_cast<std::uint64_t>(i), 5);
        step(worker, harness, static_cast<float>(1 << (i % 4 + worker.rank())));
      }
      harness.strategy->show_model(worker, *harness.replica);
    }
  });
  for (const auto& parameters : run.parameters)
    for (std::size_t i = 0; i < length; ++i) REQUIRE(parameters[i] == static_cast<float>(i) - sum);
}

TEST_CASE("a worker sees its own gradients before they are pushed, and each epoch counts minibatches from its beginning",
          "[strategies]") {
  ServerRun run;
  run.workers = 1;
  run.options["servers"] = GENERATE(0, 1);
  run.options["push-every"] = 3;
  const unsigned fetch_every = GENERATE(1u, 2u);
  run.options["fetch-every"] = fetch_every;
  run.run([&](comm::Worker& worker, StrategyHarness& harness) {
    int steps = 0;
    for (int epoch = 0; epoch < 2; ++epoch) {
      for (int i = 0; i < 5; ++i) {
        step(worker, harness, 1);
        CHECK(harness.parameters[0] == static_cast<float>(-++steps));
      }
      harness.strategy->show_model(worker, *harness.replica);
    }
  });
  const auto kinds = run.orders[0] | std::views::transform(&Event::kind);
  CHECK(std::ranges::count(kinds, Event::Kind::fetch) == (fetch_every == 1 ? 10 : 4));
}

TEST_CASE("parameters that come are those of the version that is told, and staleness is counted from there",
          "[strategies]") {
  ServerRun run;
  run.options["servers"] = 1;
  run.options["server-transport"] = GENERATE("messages", "windows");
  const int push_every = GENERATE(1, 3);
  run.options["push-every"] = push_every;
  run.run([&](comm::Worker& worker, StrategyHarness& harness) {
    for (std::uint64_t i = 0; i < 20; ++i) {
      compute(worker, i, 2);
      step(worker, harness, 1);  // the model is then start - version
    }
  });
  std::uint64_t version = 0, sum = 0, most = 0;
  std::map<int, std::uint64_t> began;  // with the first of the gradients that are pushed together
  std::map<int, bool> begins;
  for (const Event& event : run.orders[0]) {
    if (event.kind == Event::Kind::push) {
      CHECK(event.version == began[event.worker]);
      begins[event.worker] = true;
      sum += version - event.version;
      most = std::max(most, version - event.version);
      ++version;
    } else if (event.kind == Event::Kind::fetch) {
      CHECK(event.version == version);
      if (std::exchange(begins[event.worker], false)) began[event.worker] = version;
    }
  }
  const std::uint64_t pushes = push_every == 1 ? 60 : 21;  // of three workers
  CHECK(version == pushes);
  CHECK(most > 0);
  CHECK(run.numbers.at("pushes") == static_cast<double>(pushes));
  CHECK(run.numbers.at("staleness_max") == static_cast<double>(most));
  CHECK(run.numbers.at("staleness_mean") == Approx(static_cast<double>(sum) / static_cast<double>(pushes)));
}

TEST_CASE("splits that a dead worker had finished are not lost", "[strategies]") {
  sim::run(1, [](comm::Worker& worker) {
    Server server(2, std::make_unique<Policy>(), {.name = "sgd"}, nullptr);
    server.start(worker.device(), {{0, {length, 1}}}, length);
    CHECK(server.take(1, 0) == 0);
    CHECK(server.take(0, 0) == 1);
    CHECK(server.take(1, 0) == 2);  // ahead
    CHECK(server.take(1, 1) == 3);
    server.lose(worker.comm(), 1);
    CHECK(server.statistics().workers_lost == 1);
    CHECK(server.statistics().splits_lost == 2);
  });
}

TEST_CASE("splits are given out once each, and from the first again in the next epoch", "[strategies]") {
  ServerRun run;
  run.options["servers"] = GENERATE(0, 1);
  std::map<std::size_t, int> taken;
  run.run([&](comm::Worker& worker, StrategyHarness& harness) {
    for (int epoch = 0; epoch < 2; ++epoch) {
      for (std::uint64_t i = 0; i < 5; ++i) {
        ++taken[harness.served().take(worker)];
        compute(worker, i, 4);
        harness.strategy->synchronise(worker, *harness.replica, 1);
      }
      harness.strategy->show_model(worker, *harness.replica);
    }
  });
  CHECK(taken.size() == 15);
  for (const auto& [number, times] : taken) {
    CHECK(number < 15);
    CHECK(times == 2);
  }
}

TEST_CASE("what servers do depends neither on host threads, nor on the order of starting, nor on buffering",
          "[strategies][threads]") {
  const std::string name = GENERATE("async_sgd", "bounded_staleness", "staleness_scaled", "lazy_sgd", "easgd",
                                    "async_local_sgd", "backup_workers");
  const int servers = GENERATE(0, 1);
  const std::string transport = GENERATE("messages", "windows");
  if (transport == "windows" && lets_wait(name)) return;
  const auto train = [&](const sim::SimulationOptions& world, std::int64_t eager_bytes) {
    ServerRun run;
    run.strategy = name;
    run.options["server-transport"] = transport;
    run.workers = 4;
    run.options["servers"] = servers;
    run.world = world;
    run.eager_bytes = eager_bytes;
    run.run([&](comm::Worker& worker, StrategyHarness& harness) {
      for (std::uint64_t i = 0; i < 8; ++i) {
        compute(worker, i, 9);
        step(worker, harness, std::sin(static_cast<float>(i) + static_cast<float>(worker.rank())));
      }
    });
    return std::pair(run.parameters, run.orders);
  };
  const auto one = train({}, 64);
  sim::SimulationOptions other;
  other.host_threads = 3;
  other.start_order = 7;
  CHECK(train(other, 64) == one);
  CHECK_NOTHROW(train(other, 0));
  CHECK_NOTHROW(train(other, 1 << 20));
}

TEST_CASE("an asynchronous run repeats the order of another, whatever the speeds", "[strategies]") {
  const std::string name =
      GENERATE("async_sgd", "bounded_staleness", "staleness_scaled", "easgd", "async_local_sgd", "backup_workers");
  const int servers = GENERATE(0, 1);
  const bool more = GENERATE(false, true);
  const std::string transport = GENERATE("messages", "windows");  // of the recorded run
  if (transport == "windows" && lets_wait(name)) return;
  CAPTURE(name, servers, more, transport);
  const auto train = [&](std::uint64_t seed, std::shared_ptr<const Orders> replay) {
    ServerRun run;
    run.strategy = name;
    run.options["servers"] = servers;
    run.context.server.replay = std::move(replay);
    run.options["server-transport"] = transport;
    if (more && name != "backup_workers") {
      if (name != "easgd" && name != "async_local_sgd") run.options["prefetch"] = true;
      run.options["push-every"] = 2;
    }
    run.run([&](comm::Worker& worker, StrategyHarness& harness) {
      for (int epoch = 0; epoch < 2; ++epoch) {
        for (std::size_t i = 0; (i = harness.served().take(worker)) < 12;) {
          compute(worker, i, seed);
          step(worker, harness, std::sin(static_cast<float>(i)));
          harness.strategy->synchronise(worker, *harness.replica, 1);
        }
        harness.strategy->show_model(worker, *harness.replica);
        harness.strategy->resume_work(worker, *harness.replica);
      }
    });
    return std::pair(run.parameters, run.orders);
  };
  const auto recorded = train(1, nullptr), other = train(2, nullptr);
  CHECK(recorded.second != other.second);
  const auto orders = std::make_shared<const Orders>(Orders{{}, recorded.second});
  CHECK(train(2, orders) == recorded);
  CHECK(train(3, orders) == recorded);
}

TEST_CASE("asynchronous strategies refuse what they cannot do, in one sentence", "[strategies]") {
  const auto fails = [](const std::string& name, int workers, const core::Settings& options,
                        const optim::OptimiserOptions& rule = {.name = "sgd"}) {
    const StrategyContext context{.server = {.rule = rule}};
    sim::run(workers, [&](comm::Worker& worker) { StrategyHarness harness(worker, name, options, rule, 0, context); });
  };
  CHECK_THROWS_WITH(fails("async_sgd", 2, {}, {.name = "lars"}), contains_text("'lars' needs whole matrices"));
  CHECK_THROWS_WITH(fails("backup_workers", 2, {{"backup-workers", 2}}), contains_text("2 backup workers of 2"));
  CHECK_THROWS_WITH(fails("backup_workers", 2, {{"prefetch", true}}), contains_text("has no option `prefetch`"));
  CHECK_THROWS_WITH(fails("backup_workers", 2, {{"servers", 2}}), contains_text("use 1 server or none"));
  CHECK_THROWS_WITH(fails("easgd", 2, {{"fetch-every", 2}}), contains_text("has no option `fetch-every`"));
  CHECK_THROWS_WITH(fails("easgd", 2, {{"elastic-rate", 1}}),
                    contains_text("`elastic-rate`: '1' is not a number from 0 to below 1"));
  CHECK_THROWS_WITH(fails("lazy_sgd", 2, {{"lazy-threshold", -1}}), contains_text("`lazy-threshold`: '-1'"));
  CHECK_THROWS_AS(fails("async_sgd", 2, {{"push-every", 0}}), core::ConfigError);
  for (const char* name : {"bounded_staleness", "backup_workers"})
    CHECK_THROWS_WITH(fails(name, 2, {{"server-transport", "windows"}}), contains_text("make fetches wait"));
  CHECK_THROWS_WITH(fails("async_sgd", 2, {{"server-transport", "pigeons"}}),
                    contains_text("known: messages, windows, auto"));
  CHECK_THROWS_AS(fails("async_sgd", 2, {{"worker-timeout", 0}}), core::ConfigError);
  CHECK_THROWS_AS(fails("backup_workers", 2, {{"backup-workers", -1}}), core::ConfigError);
}
