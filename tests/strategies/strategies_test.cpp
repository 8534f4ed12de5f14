// What holds of many strategies.
#include <limits>

#include "catch.hpp"
#include "core/errors.hpp"
#include "core/philox.hpp"
#include "tests/strategies/support.hpp"

using namespace paragrad;
using namespace paragrad::strategies::testing;

TEST_CASE("averages weigh workers by the samples they processed", "[strategies]") {
  const std::string collective = GENERATE("ring", "tree", "butterfly", "halving_doubling", "parameter_server");
  core::Settings options;
  options["collective"] = collective;
  const std::vector<std::size_t> samples{30, 0, 10};
  const auto parameters = after(3, "model_averaging", options, [&](comm::Worker& worker, StrategyHarness& harness) {
    move_by(harness, static_cast<float>(worker.rank() + 1));
    harness.strategy->synchronise(worker, *harness.replica, samples[static_cast<std::size_t>(worker.rank())]);
  });
  for (const auto& p : parameters) CHECK(p == parameters[0]);
  for (std::size_t i = 0; i < length; ++i)
    CHECK(parameters[0][i] == Approx(static_cast<double>(i) + (30 * 1 + 10 * 3) / 40.0));
}

TEST_CASE("a block in which nobody processed anything changes nothing", "[strategies]") {
  const std::string strategy = GENERATE("model_averaging", "bmuf", "slowmo", "diloco");
  const auto parameters = after(3, strategy, {}, [&](comm::Worker& worker, StrategyHarness& harness) {
    harness.strategy->synchronise(worker, *harness.replica, 0);
  });
  for (const auto& p : parameters)
    for (std::size_t i = 0; i < length; ++i) CHECK(p[i] == static_cast<float>(i));
}

TEST_CASE("a lone worker keeps its model and its momentum", "[strategies]") {
  const std::string strategy = GENERATE("model_averaging", "bmuf", "data_parallel", "sgd");
  after(1, strategy, {}, [&](comm::Worker& worker, StrategyHarness& harness) {
    move_by(harness, 0.3f);
    const auto before = harness.parameters;
    harness.velocity()[0] = 5;
    harness.strategy->synchronise(worker, *harness.replica, 10);
    CHECK(harness.parameters == before);
    CHECK_FALSE(harness.exchanges(1));
    CHECK(harness.velocity()[0] == 5);
  });
}

TEST_CASE("a synchronisation forgets the local momentum unless told not to", "[strategies]") {
  const std::string strategy = GENERATE("model_averaging", "bmuf");
  const bool reset = GENERATE(true, false);
  core::Settings options;
  options["reset-local-momentum"] = reset;
  after(2, strategy, used_by(strategy, options), [&](comm::Worker& worker, StrategyHarness& harness) {
    harness.velocity()[3] = 5;
    harness.strategy->synchronise(worker, *harness.replica, 10);
    CHECK(harness.velocity()[3] == (reset ? 0.f : 5.f));
  });
}

TEST_CASE("strategies refuse what they cannot do, in one sentence", "[strategies]") {
  CHECK_THROWS_WITH(strategies::make_strategy("bmfu", {}),
                    contains_text("unknown strategy 'bmfu'; did you mean bmuf? (known: sgd, data_parallel"));
  const auto fails = [](const std::string& name, const core::Settings& settings) {
    strategies::make_strategy(name, settings);
  };
  CHECK_THROWS_WITH(fails("bmuf", {{"bmuf-kind", "nesterov"}}),
                    contains_text("`bmuf-kind`: 'nesterov' is unknown; known: cbm, nbm"));
  CHECK_THROWS_WITH(fails("bmuf", {{"block-momentum", 1}}),
                    contains_text("`block-momentum`: '1' is not a number from 0 to below 1"));
  CHECK_THROWS_AS(fails("bmuf", {{"block-learning-rate", 0}}), core::OptionError);
  CHECK_THROWS_AS(fails("post_local_sgd", {{"local-start-epoch", 0}}), core::OptionError);
  CHECK_NOTHROW(fails("bmuf", {{"block-momentum-time-constant", 100}}));
  CHECK_THROWS_WITH(fails("bmuf", {{"block-momentum-time-constant", 100}, {"block-momentum", 0.5}}),
                    contains_text("either a block momentum or its time constant"));
  CHECK_THROWS_WITH(fails("bmuf", {{"block-learning-rate-form", "fairseq"}}),
                    contains_text("'fairseq' is unknown; known: paper, cntk"));
  CHECK_THROWS_AS(fails("slowmo", {{"slow-momentum", 1}}), core::OptionError);
  CHECK_THROWS_AS(fails("diloco", {{"outer-learning-rate", 0}}), core::OptionError);
  CHECK_THROWS_WITH(
      fails("diloco", {{"slow-momentum", 0.5}}),
      contains_text("the strategy diloco has no option `slow-momentum`; its options are `balance`, `collective`"));
  CHECK_THROWS_WITH(fails("sgd", {{"collective", "tree"}}), contains_text("the strategy sgd has no options"));
  CHECK_THROWS_WITH(fails("data_parallel", {{"error-feedback", false}}), contains_text("has no option `error-feedback`"));
  CHECK_NOTHROW(fails("data_parallel", {{"compression", "bits:1"}, {"error-feedback", false}}));
  CHECK_THROWS_WITH(after(2, "bmuf_adam", {}, [](comm::Worker&, StrategyHarness&) {}),
                    contains_text("choose `optimiser` adam or adamw"));
  CHECK_THROWS_WITH(after(2, "sgd", {}, [](comm::Worker&, StrategyHarness&) {}),
                    contains_text("trains with one worker, not 2"));
}

namespace {

/// Strategies that exchange anything by a collective, except those that need a certain local optimiser.
std::vector<std::string> with_collectives() {
  std::vector<std::string> names{"data_parallel"};
  for (const strategies::StrategyEntry& entry : strategies::strategies())
    if (entry.info.name != "bmuf_adam" && used_by(entry.info.name, {{"collective", "ring"}}).size() == 1)
      names.push_back(entry.info.name);
  return names;
}

}  // namespace

TEST_CASE("no strategy relies on buffering or on the order of starting: the same weights and no deadlock",
          "[strategies][threads]") {
  const std::string name = GENERATE(from_range(with_collectives()));
  const std::string collective = GENERATE("ring", "tree", "butterfly", "halving_doubling", "parameter_server");
  const int workers = GENERATE(2, 5);
  CAPTURE(name, collective, workers);
  core::Settings options;
  options["collective"] = collective;
  const auto train = [&](std::int64_t eager_bytes, const sim::SimulationOptions& world) {
    sim::Platform platform = sim::free_platform(workers);
    platform.message.eager_bytes = eager_bytes;
    std::vector<std::vector<float>> parameters(static_cast<std::size_t>(workers));
    sim::run(platform, workers, world, [&](comm::Worker& worker) {
      StrategyHarness harness(worker, name, used_by(name, options));
      const core::RandomStream random(3, core::Purpose::generator, static_cast<std::uint32_t>(worker.rank()));
      for (std::uint64_t block = 0; block < 3; ++block) {
        for (std::size_t i = 0; i < length; ++i)
          harness.parameters[i] += static_cast<float>(random.normal(block * length + i));
        harness.strategy->synchronise(worker, *harness.replica, 1 + static_cast<std::uint64_t>(worker.rank()));
      }
      harness.strategy->show_model(worker, *harness.replica);
      parameters[static_cast<std::size_t>(worker.rank())] = harness.parameters;
    });
    return parameters;
  };
  const auto buffered = train(std::numeric_limits<std::int64_t>::max(), {});
  CHECK(train(0, {}) == buffered);
  sim::SimulationOptions shuffled;
  shuffled.start_order = 7;
  shuffled.host_threads = 3;
  CHECK(train(0, shuffled) == buffered);
}
