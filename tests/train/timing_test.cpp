// Timing runs: the device meta, sizes instead of data.
#include <cmath>

#include "catch.hpp"
#include "core/errors.hpp"
#include "support.hpp"

using namespace paragrad;

namespace {

/// Every part of a step takes a time of its own.
sim::Platform cluster_of_pairs(int workers) {
  sim::Platform platform = sim::free_platform(workers);
  platform.nodes = (workers + 1) / 2;
  platform.devices_per_node = 2;
  platform.device = {1e12, 1e11, 0.7, 0.8, 3e-6};
  platform.peer = {2e-6, 6e9};
  platform.leaf = {{9e-6, 1e9}, 1};
  return platform;
}

}  // namespace

TEST_CASE("a timing run takes exactly the simulated time of the run that computes", "[train]") {
  const std::string strategy = GENERATE("sgd", "data_parallel", "model_averaging", "bmuf");
  const int workers = GENERATE(1, 2, 4);
  const bool imaginary = GENERATE(false, true);
  if (strategy == "sgd" && workers > 1) return;
  test::SmallTask task;
  task.options.strategy = strategy;
  if (strategy != "sgd") task.options.strategy_settings["collective"] = GENERATE("ring", "tree");
  const train::Result computed = task.simulate(workers, cluster_of_pairs(workers));
  if (imaginary) {
    task.options.data.clear();
    task.imaginary_samples = {613, 101, 103};
  }
  const train::Result timed = task.simulate(workers, cluster_of_pairs(workers), {.device = "meta"});
  INFO(strategy << " " << workers << (imaginary ? " imaginary" : ""));
  CHECK(timed.training_s == computed.training_s);
  CHECK(timed.times.optimise_s == computed.times.optimise_s);
  CHECK(timed.times.aggregate_s == computed.times.aggregate_s);
  CHECK(timed.times.validate_s == computed.times.validate_s);
  CHECK(timed.samples == computed.samples);
}

TEST_CASE("a timing run with a warm start, another minibatch or optimiser takes the time of the run that computes",
          "[train]") {
  test::SmallTask task;
  task.options.strategy = GENERATE("data_parallel", "bmuf");
  task.options.optimiser.name = GENERATE("sgd", "nesterov");
  task.options.parallel_start_epoch = GENERATE(1, 2);
  task.options.minibatch = GENERATE(0u, 7u);
  task.options.l2 = 1e-4;
  const train::Result computed = task.simulate(3, cluster_of_pairs(3));
  const train::Result timed = task.simulate(3, cluster_of_pairs(3), {.device = "meta"});
  CHECK(timed.training_s == computed.training_s);
  CHECK(timed.times.aggregate_s == computed.times.aggregate_s);
}

TEST_CASE("a timing run has no scores, no weights and no checkpoint", "[train]") {
  test::SmallTask task;
  task.options.strategy = "data_parallel";
  metrics::RunFolder folder(task.file("timed"), metrics::RunFolder::Existing::refuse);
  const train::Result result = task.simulate(2, cluster_of_pairs(2), {.device = "meta"}, {&folder, nullptr});
  CHECK(result.timing_only);
  CHECK(result.parameters_sha256.empty());
  for (const train::Score& score : {result.train, result.valid, result.test}) {
    CHECK(std::isnan(score.loss));
    CHECK(std::isnan(score.error));
  }
  CHECK_FALSE(std::filesystem::exists(folder.file("checkpoint.h5")));
}

TEST_CASE("a part of an epoch takes its part of the time", "[train]") {
  test::SmallTask task;
  task.options.data.clear();
  task.imaginary_samples = {64 * 40, 0, 0};
  task.options.strategy = GENERATE("data_parallel", "model_averaging");
  task.options.minibatch = 8;
  task.options.epochs = 1;
  const auto optimised_s = [&](std::size_t blocks, std::size_t steps) {
    task.options.max_blocks = blocks;
    task.options.max_steps = steps;
    const train::Result result = task.simulate(2, cluster_of_pairs(2), {.device = "meta"});
    const std::size_t minibatches = 64 * 40 / 8 / 4 / (task.options.strategy == "data_parallel" ? 1 : 2);  // of a block
    const auto part = [](std::size_t most, std::size_t all) { return most == 0 ? all : std::min(most, all); };
    const std::size_t timed = part(blocks, 4) * part(steps, minibatches);
    CHECK(result.samples == timed * 8 * (task.options.strategy == "data_parallel" ? 1 : 2));
    return result.times.optimise_s;
  };
  const double all = optimised_s(0, 0);
  CHECK(optimised_s(1, 0) == Approx(all / 4).epsilon(1e-6));
  CHECK(optimised_s(0, 10) == Approx(optimised_s(0, 5) * 2).epsilon(1e-6));
  CHECK(optimised_s(7, 1000) == all);  // more than there is: all of it
}

TEST_CASE("a data set of a billion samples costs nothing to imagine", "[train]") {
  test::SmallTask task;
  task.options.data.clear();
  task.imaginary_samples = {5'000'000'000, 1'000'000'000, 0};  // beyond 32 bits
  task.options.blocks = 1000;
  task.options.max_blocks = 1;
  task.options.max_steps = 2;
  task.options.epochs = 1;
  task.options.strategy = "bmuf";
  task.options.minibatch = 4096;
  const train::Result result = task.simulate(8, cluster_of_pairs(8), {.device = "meta"});
  CHECK(result.samples == 8 * 2 * 4096);
  CHECK(result.times.validate_s > result.times.optimise_s);
}

TEST_CASE("a timing run needs sizes from somewhere, and a model that fits them", "[train]") {
  test::SmallTask task;
  task.options.model = "9-12-6";
  CHECK_THROWS_WITH(task.simulate(1, cluster_of_pairs(1), {.device = "meta"}), contains_text("has 9 inputs and 6 outputs"));
  task.options.data.clear();
  CHECK_THROWS_WITH(task.simulate(1, cluster_of_pairs(1), {.device = "meta"}), contains_text("`train-samples`"));
  task.imaginary_samples = {3, 0, 0};
  CHECK_THROWS_WITH(task.simulate(1, cluster_of_pairs(1), {.device = "meta"}),
                    contains_text("more splits than the 3 samples"));
}
