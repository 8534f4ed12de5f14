// The exponential mean of a model over the blocks of its training (`ema-decay`).
#include <cmath>

#include "catch.hpp"
#include "support.hpp"
#include "train/state/checkpoint.hpp"

using namespace paragrad;

namespace {

struct AveragedTask : test::SmallTask {
  AveragedTask() {
    options.blocks = 5;
    options.epochs = 1;
  }

  std::vector<float> model(int workers) {
    metrics::RunFolder folder(file("run"), metrics::RunFolder::Existing::replace);
    simulate(workers, sim::free_platform(workers), {}, {.folder = &folder});
    return train::read_checkpoint(folder.file("checkpoint.h5")).parameters;
  }
  std::vector<core::Json> records() const {
    return test::records_of(metrics::RunFolder(file("run"), metrics::RunFolder::Existing::continue_it));
  }
};

}  // namespace

TEST_CASE("the mean over blocks is that of the models with which trainings of so many blocks end", "[train]") {
  AveragedTask task;
  task.options.strategy = GENERATE("sgd", "data_parallel", "model_averaging", "slowmo", "diloco");
  const int workers = task.options.strategy == "sgd" ? 1 : 3;
  const double decay = 0.6;
  std::vector<double> mean;
  for (std::size_t blocks = 1; blocks <= 5; ++blocks) {
    task.options.max_blocks = blocks;
    const std::vector<float> model = task.model(workers);
    mean.resize(model.size());
    for (std::size_t i = 0; i < model.size(); ++i) mean[i] = decay * mean[i] + (1 - decay) * static_cast<double>(model[i]);
    task.options.ema_decay = decay;
    const std::vector<float> averaged = task.model(workers);
    task.options.ema_decay = 0;
    double worst = 0;
    for (std::size_t i = 0; i < model.size(); ++i)
      worst = std::max(
          worst, std::abs(static_cast<double>(averaged[i]) - mean[i] / (1 - std::pow(decay, static_cast<double>(blocks)))));
    CAPTURE(task.options.strategy, blocks);
    CHECK(worst < 1e-6);
    CHECK((averaged == model) == (blocks == 1));
  }
}

TEST_CASE("keeping a mean changes nothing of the training, nor do validations change the mean", "[train]") {
  AveragedTask task;
  task.options.strategy = GENERATE("sgd", "data_parallel", "model_averaging", "bmuf");
  const int workers = task.options.strategy == "sgd" ? 1 : 3;
  task.options.epochs = 3;
  const train::Result plain = task.simulate(workers);
  task.options.ema_decay = 0.9;
  const train::Result averaged = task.simulate(workers);
  CHECK(averaged.train.loss == plain.train.loss);
  CHECK(averaged.parameters_sha256 != plain.parameters_sha256);
  task.options.validations = 4;
  CHECK(task.simulate(workers).parameters_sha256 == averaged.parameters_sha256);
}

TEST_CASE("a training that goes back to its best model begins a new mean", "[train]") {
  AveragedTask task;
  task.options.strategy = "model_averaging";
  task.options.blocks = 1;  // so that the mean since then is the model
  task.options.epochs = 3;
  task.options.optimiser.name = "sgd";
  task.options.schedule = {"newbob", 3, {{"schedule-factor", 0.001}, {"newbob-restore", true}}};
  std::vector<double> losses{0, 0, 0};
  std::vector<float> plain;
  // With a seed for which the second epoch makes it worse, and the third, at a thousandth of the rate, makes it better.
  for (task.options.seed = 1; !(losses[1] > losses[0] && losses[0] > losses[2]); ++task.options.seed) {
    REQUIRE(task.options.seed < 50);
    plain = task.model(2);
    for (std::size_t epoch = 0; epoch < 3; ++epoch) losses[epoch] = task.records()[epoch]["valid_loss"].get<double>();
  }
  --task.options.seed;
  task.options.ema_decay = 0.01;
  const std::vector<float> averaged = task.model(2);
  float worst = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) worst = std::max(worst, std::abs(averaged[i] - plain[i]));
  CHECK(worst < 1e-6f);
}

TEST_CASE("workers that agree only at the end of an epoch have no mean over blocks", "[train]") {
  test::SmallTask task;
  task.options.strategy = "async_sgd";
  task.options.ema_decay = 0.9;
  CHECK_THROWS_WITH(task.simulate(3), contains_text("`ema-decay`"));
}
