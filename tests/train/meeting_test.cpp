// Strategies that meet within a block, in whole trainings.
#include "catch.hpp"
#include "support.hpp"

using namespace paragrad;

namespace {

/// Four workers on a network whose latency is this.
sim::Platform with_latency(double latency_s) {
  sim::Platform platform = test::slow_cluster(4);
  platform.leaf = {{latency_s, 1e9}, 1};
  return platform;
}

train::Result after(test::SmallTask& task, const sim::Platform& platform, core::Settings settings) {
  task.options.strategy_settings = std::move(settings);
  return task.simulate(4, platform);
}

}  // namespace

TEST_CASE("streaming_diloco with one fragment, no delay and nothing kept is diloco, bit for bit", "[train]") {
  test::SmallTask task;
  task.options.blocks = GENERATE(1u, 4u, 30u);  // 30: at most two minibatches of a worker, some with one
  task.options.minibatch = GENERATE(0u, 8u);
  task.options.optimiser.name = GENERATE("nesterov", "adamw");
  const int workers = GENERATE(1, 3, 5);
  const core::Settings common{{"collective", "tree"}, {"outer-learning-rate", 0.5}, {"outer-momentum", 0.6}};
  task.options.strategy = "diloco";
  task.options.strategy_settings = common;
  const train::Result expected = task.simulate(workers);
  task.options.strategy = "streaming_diloco";
  for (const auto& [name, value] :
       core::Settings{{"fragments", std::size_t{1}}, {"outer-delay", std::size_t{0}}, {"local-share", 0}})
    task.options.strategy_settings[name] = value;
  const train::Result result = task.simulate(workers);
  CHECK(result.parameters_sha256 == expected.parameters_sha256);
  CHECK(result.train.loss == expected.train.loss);
  CHECK(result.test.error == expected.test.error);
}

TEST_CASE("so it is with compressed displacements", "[train]") {
  test::SmallTask task;
  task.options.blocks = 4;
  task.options.optimiser.name = "adamw";
  core::Settings common{
      {"outer-compression", GENERATE("bits:1", "e3m0", "statistical:4", "chunk_top_k:8,64,2", "power_sgd:2")},
      {"outer-learning-rate", 0.5}};
  if (common["outer-compression"].text() != "power_sgd:2") common["gather-codes"] = GENERATE(false, true);
  task.options.strategy = "diloco";
  task.options.strategy_settings = common;
  const train::Result expected = task.simulate(3);
  task.options.strategy = "streaming_diloco";
  common.insert({{"fragments", std::size_t{1}}, {"outer-delay", std::size_t{0}}, {"local-share", 0}});
  task.options.strategy_settings = common;
  CHECK(task.simulate(3).parameters_sha256 == expected.parameters_sha256);
}

TEST_CASE("sparta with all parameters is averaging at every minibatch, bit for bit", "[train]") {
  test::SmallTask task(640);
  const int workers = GENERATE(1, 2, 4);
  task.options.blocks = 40 / static_cast<unsigned>(workers);  // a minibatch of each worker
  task.options.minibatch = 16;
  task.options.optimiser.name = GENERATE("nesterov", "adamw");
  task.options.strategy = "model_averaging";
  task.options.strategy_settings = {{"collective", GENERATE("ring", "tree")}, {"reset-local-momentum", false}};
  const train::Result expected = task.simulate(workers);
  task.options.strategy = "sparta";
  task.options.strategy_settings = {{"collective", task.options.strategy_settings["collective"]}, {"mask-share", 1}};
  task.options.strategy_settings["mask"] = GENERATE("random", "cycle");
  const train::Result result = task.simulate(workers);
  CHECK(result.train.loss == expected.train.loss);
  if (workers != 1) CHECK(result.test.loss == Approx(expected.test.loss).epsilon(1e-6));  // of the mean of equal models
}

TEST_CASE("one worker that pushes to itself after each block takes diloco's steps", "[train]") {
  test::SmallTask task(640);
  task.options.epochs = 2;
  task.options.blocks = 4;
  task.options.minibatch = 16;
  task.options.optimiser.name = GENERATE("nesterov", "adamw");
  task.options.strategy = "diloco";
  const core::Settings outer{{"outer-learning-rate", 0.5}, {"outer-momentum", 0.6}};
  task.options.strategy_settings = outer;
  const train::Result expected = task.simulate(1);
  task.options.strategy = "async_local_sgd";
  task.options.strategy_settings = outer;
  task.options.strategy_settings["push-every"] = 10u;
  task.options.strategy_settings["outer-step"] = GENERATE("nesterov", "delayed");
  const train::Result result = task.simulate(1);
  CHECK(result.train.loss == Approx(expected.train.loss).epsilon(1e-5));
  CHECK(result.test.loss == Approx(expected.test.loss).epsilon(1e-5));
}

TEST_CASE("a fragment that arrives within its delay costs no time, and one that does not is waited for", "[train]") {
  test::SmallTask task;
  task.options.strategy = "streaming_diloco";
  task.options.optimiser.name = "sgd";
  task.options.minibatch = 4;
  task.options.blocks = 2;  // 19 minibatches of a worker each
  const auto settings = [](std::size_t delay) {
    return core::Settings{{"fragments", std::size_t{2}}, {"fragment-cut", "packed"}, {"outer-delay", delay}};
  };
  const train::Result on_no_network = after(task, with_latency(0), settings(9));
  const train::Result hidden = after(task, with_latency(5e-6), settings(9));
  const train::Result exposed = after(task, with_latency(5e-6), settings(0));
  CHECK(hidden.parameters_sha256 == on_no_network.parameters_sha256);
  CHECK(hidden.times.optimise_s == Approx(on_no_network.times.optimise_s).epsilon(1e-3));
  CHECK(hidden.times.aggregate_s == Approx(on_no_network.times.aggregate_s).epsilon(1e-3));
  CHECK(exposed.times.aggregate_s > 3 * hidden.times.aggregate_s);
}
