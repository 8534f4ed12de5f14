#include "train/minibatch_search.hpp"

#include <cmath>
#include <limits>

#include "catch.hpp"
#include "core/errors.hpp"
#include "support.hpp"

using namespace paragrad;
using train::MinibatchSearchOptions;

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

/// What is chosen where sizes above `harmless` lose as much as `bad`.
std::size_t chosen(std::size_t harmless, double bad, double margin_percent = 1) {
  const MinibatchSearchOptions options{.enabled = true, .margin_percent = margin_percent};
  return train::search_minibatch(options, {64, 128, 192, 256},
                                 [&](std::size_t size) { return size > harmless ? bad : 2.0; });
}

}  // namespace

TEST_CASE("the largest size that does no harm is chosen", "[train]") {
  for (const std::size_t harmless : {64u, 128u, 192u, 256u}) CHECK(chosen(harmless, 2.03) == harmless);
  CHECK(chosen(64, 2.01) == 256);  // within the margin of 1 %
  CHECK(chosen(64, 2.01, 0) == 64);
  CHECK(chosen(64, 2.0, 0) == 256);  // at the margin
}

TEST_CASE("a loss that is no number is a harm", "[train]") {
  CHECK(chosen(128, no_number) == 128);
  CHECK(chosen(0, no_number) == 64);
  CHECK(chosen(128, std::numeric_limits<double>::infinity()) == 128);
}

TEST_CASE("nothing is tried behind the first harm", "[train]") {
  std::vector<std::size_t> tried;
  train::search_minibatch({.enabled = true}, {8, 16, 32, 64}, [&](std::size_t size) {
    tried.push_back(size);
    return size == 16 ? 3. : 1.;
  });
  CHECK(tried == std::vector<std::size_t>{8, 16});
}

TEST_CASE("sizes rise by the root of two from half to twice the present size", "[train]") {
  CHECK(train::sizes_to_try({}, 64, 64) == std::vector<std::size_t>{64, 88, 128});
  CHECK(train::sizes_to_try({}, 64, 512) == std::vector<std::size_t>{256, 384, 512, 704, 1024});
  CHECK(train::sizes_to_try({}, 200, 200) == std::vector<std::size_t>{200, 256, 384, 400});
  CHECK(train::sizes_to_try({.largest = 600}, 64, 512) == std::vector<std::size_t>{256, 384, 512, 600});
  CHECK(train::sizes_to_try({.largest = 32}, 64, 64) == std::vector<std::size_t>{64});
  CHECK(train::sizes_to_try({}, 1, 1) == std::vector<std::size_t>{1, 2});
}

TEST_CASE("sizes are tuned before every so many epochs, never before the first", "[train]") {
  const MinibatchSearchOptions options{.enabled = true, .frequency = 3};
  std::vector<int> epochs;
  for (int epoch = 1; epoch <= 10; ++epoch)
    if (train::search_before(options, epoch)) epochs.push_back(epoch);
  CHECK(epochs == std::vector<int>{4, 7, 10});
  CHECK_FALSE(train::search_before({.enabled = false}, 4));
}

TEST_CASE("a search that keeps the size leaves no trace in the weights", "[train]") {
  test::SmallTask task;
  task.options.strategy = GENERATE("data_parallel", "bmuf", "model_averaging");
  test::give(task.options, "compression", GENERATE("none", "bits:1"));
  test::give(task.options, "buffered", GENERATE(false, true));
  task.options.epochs = 3;
  task.options.momentum_time_constant = 150;  // as a momentum per minibatch is understood where sizes are tuned
  const std::string plain = task.simulate(3).parameters_sha256;
  task.options.minibatch_search = {.enabled = true, .largest = task.options.minibatch, .samples = 200};
  CHECK(task.simulate(3).parameters_sha256 == plain);
  task.options.minibatch_search.largest = 1000;
  task.options.minibatch_search.margin_percent = 1000;
  CHECK(task.simulate(3).parameters_sha256 != plain);
  task.options.minibatch_search.samples = 1;  // a size is tried with a minibatch at least
  CHECK(task.simulate(3).parameters_sha256 != plain);
}

TEST_CASE("sizes that let the training explode are not chosen", "[train]") {
  test::SmallTask task;
  task.options.strategy = "data_parallel";
  task.options.model = "8-12-6:relu";
  task.options.epochs = 4;
  task.options.rate_per = "sample";
  task.options.schedule.initial_rate = 0.02;
  task.options.momentum = 0;
  task.options.minibatch_search = {.enabled = true, .largest = 613, .margin_percent = 5, .samples = 613};
  const train::Result tuned = task.simulate(2);
  CHECK(std::isfinite(tuned.train.loss));
  CHECK(tuned.train.loss < 1.5);
}

TEST_CASE("a size whose trial diverges does not end the training", "[train]") {
  test::SmallTask task(20000);
  task.options.strategy = "sgd";
  task.options.model = "8-6";
  task.options.loss = "squared_error";
  task.options.optimiser.name = "sgd";
  task.options.rate_per = "sample";
  task.options.momentum = 0;
  const auto diverges = [&](std::size_t minibatch) {
    task.options.minibatch = minibatch;
    try {
      task.simulate(1);
    } catch (const core::ConfigError&) {
      return true;
    }
    return false;
  };
  double& rate = task.options.schedule.initial_rate;
  for (rate = 0.002; !diverges(32); rate *= 1.2) REQUIRE(rate < 1);
  rate *= 1.05;  // so that an epoch is enough
  REQUIRE(!diverges(24));
  task.options.minibatch = 16;
  task.options.minibatch_search = {.enabled = true, .largest = 32, .margin_percent = 1000, .samples = 20000};
  CHECK_NOTHROW(task.simulate(1));
}

TEST_CASE("the time of sizes that are only tried is in that of the phases", "[train]") {
  test::SmallTask task;
  task.options.strategy = GENERATE("data_parallel", "bmuf");
  task.options.epochs = 3;
  task.options.minibatch_search = {.enabled = true, .largest = 64, .margin_percent = 0, .samples = 613};
  const train::Result result = task.simulate(3, test::slow_cluster(3));
  const train::TimeBreakdown& times = result.times;
  CHECK(times.optimise_s + times.aggregate_s + times.validate_s + times.data_s == Approx(result.training_s).epsilon(0.05));
}

TEST_CASE("a period in samples decides how many blocks an epoch has", "[train]") {
  test::SmallTask task(600);
  const auto blocks = [&](std::size_t period, int workers) {
    task.options.sync_period = period;
    return train::open_training_data(task.options, workers).partition->blocks();
  };
  const std::size_t samples = train::open_training_data(task.options, 1).partition->samples();
  CHECK(blocks(0, 2) == task.options.blocks);
  CHECK(blocks(50, 2) == (samples + 50) / 100);
  CHECK(blocks(50, 4) == (samples + 100) / 200);
  CHECK(blocks(40000, 4) == 1);
}
