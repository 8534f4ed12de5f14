// Clipped gradients and limited weights in whole runs.
#include "catch.hpp"
#include "core/errors.hpp"
#include "support.hpp"

using namespace paragrad;
using test::SmallTask;

namespace {

struct LimitedTask : SmallTask {
  explicit LimitedTask(const std::string& clip, double threshold = 0.002) {
    options.optimiser.clip_per_sample = threshold;
    options.optimiser.clip = clip;
  }
};

}  // namespace

TEST_CASE("clipping changes a training, and in buckets or beside the backward pass not otherwise", "[train]") {
  LimitedTask task(GENERATE("truncate", "norm", "global"));
  task.options.strategy = "data_parallel";
  task.options.strategy_settings["bucket-bytes"] = 100;
  const train::Result clipped = task.simulate(3);
  task.options.strategy_settings["overlap"] = false;
  CHECK(task.simulate(3).parameters_sha256 == clipped.parameters_sha256);
  task.options.optimiser.clip_per_sample = 0;
  CHECK(task.simulate(3).parameters_sha256 != clipped.parameters_sha256);
}

TEST_CASE("workers that share minibatches clip what one worker would", "[train]") {
  LimitedTask task(GENERATE("truncate", "norm", "global"));
  task.options.strategy = "data_parallel";
  task.options.splits = 3;
  const train::Result one = task.simulate(1), three = task.simulate(3);
  CHECK(three.valid.loss == Approx(one.valid.loss).epsilon(1e-4));
}

TEST_CASE("clipping holds a learning rate that is too high without it", "[train]") {
  LimitedTask task("truncate", 1e-3);
  task.options.model = "8-blstm10-6";
  task.options.chunks = "3-8+3";
  task.options.minibatch = 4;
  task.options.schedule.initial_rate = 60;
  task.options.momentum = 0;
  task.options.strategy = "sgd";
  const train::Result clipped = task.simulate(1);
  task.options.optimiser.clip_per_sample = 0;
  double loss = std::numeric_limits<double>::infinity();
  try {
    loss = task.simulate(1).valid.loss;
  } catch (const core::ConfigError&) {  // no number any more
  }
  CHECK(clipped.valid.loss < loss);
  CHECK(clipped.valid.loss < std::log(6.));
}

TEST_CASE("a timing run counts what limits cost", "[train]") {
  LimitedTask task(GENERATE("truncate", "norm", "global"));
  task.options.strategy = GENERATE("data_parallel", "bmuf");
  task.options.optimiser.max_norm = 1;
  sim::Platform platform = sim::free_platform(2);
  platform.device = {1e9, 1e9, 1, 1, 1e-6};
  const double timed = task.simulate(2, platform, {.device = "meta"}).training_s;
  CHECK(timed == task.simulate(2, platform).training_s);
  task.options.optimiser = {};
  CHECK(task.simulate(2, platform, {.device = "meta"}).training_s < timed);
}

TEST_CASE("limits that a worker or a server would see a part of are refused in one sentence", "[train]") {
  LimitedTask task("norm");
  std::string words;
  SECTION("norms of a replica that several hold") {
    task.options.tensor_parallel = 2;
    words = "clipped by norm";
  }
  SECTION("norms at two servers") {
    task.options.strategy = "async_sgd";
    words = "clipped by norm";
  }
  SECTION("weights at two servers") {
    task.options.strategy = "async_sgd";
    task.options.optimiser = {.max_norm = 1};
    words = "max-norm";
  }
  SECTION("workers that go on by themselves") {
    task.options.strategy = "async_sgd";
    task.options.optimiser.clip = "truncate";
    task.options.strategy_settings["fetch-every"] = 2;
    words = "`fetch-every` 1";
  }
  SECTION("workers that keep gradients back") {
    task.options.strategy = "lazy_sgd";
    task.options.optimiser.clip = "truncate";
    words = "lazy_sgd";
  }
  CHECK_THROWS_WITH(task.simulate(2), contains_text(words));
}

TEST_CASE("no unit's weights are longer than the largest norm, and those that are trained without are", "[train]") {
  SmallTask task;
  task.options.strategy = GENERATE("sgd", "data_parallel", "model_averaging", "async_sgd");
  const int workers = task.options.strategy != "sgd" && task.options.strategy != "async_sgd" ? 3 : 1;
  task.options.model = GENERATE("8-12-6:sigmoid", "8-blstm5p4+peepholes-6");
  task.options.minibatch = 4;
  const auto longest = [&](double max_norm) {
    task.options.optimiser.max_norm = max_norm;
    const auto parameters =
        task.simulate(workers, sim::free_platform(workers), {}, {.last_phase = false}).model;  // and so handed on
    const nn::Graph network = nn::make_graph(task.options.model);
    REQUIRE(parameters.size() == network.parameter_count());
    double most = 0;
    for (const core::Matrix& matrix : network.layout())
      for (std::size_t row = 0; matrix.shape.columns > 1 && row < matrix.shape.rows; ++row) {
        double sum = 0;
        for (std::size_t c = 0; c < matrix.shape.columns; ++c) {
          const double w = parameters[matrix.begin + c * matrix.shape.rows + row];
          sum += w * w;
        }
        most = std::max(most, std::sqrt(sum));
      }
    return most;
  };
  CHECK(longest(0.7) <= 0.7 * (1 + 1e-6));
  CHECK(longest(0) > 0.8);
}

TEST_CASE("servers clip the gradients that they are sent", "[train]") {
  LimitedTask task("truncate");
  task.options.strategy = GENERATE("async_sgd", "bounded_staleness", "easgd");
  const train::Result clipped = task.simulate(2);
  CHECK(task.simulate(2).parameters_sha256 == clipped.parameters_sha256);
  task.options.optimiser.clip_per_sample = 0;
  CHECK(task.simulate(2).parameters_sha256 != clipped.parameters_sha256);
}
