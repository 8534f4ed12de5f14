// When a training ends before its last epoch.
#include <cmath>
#include <string>

#include "catch.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "data/generate.hpp"
#include "metrics/run_folder.hpp"
#include "support.hpp"

using namespace paragrad;

TEST_CASE("a training with a target ends with the epoch that meets it, as one of so many epochs would", "[train]") {
  test::SmallTask task(1000);
  task.options.epochs = 20;
  task.options.strategy = GENERATE("sgd", "bmuf");
  const int workers = task.options.strategy == "sgd" ? 1 : 2;
  task.options.loop_settings["target-error"] = 0.5;  // chance: 0.83
  task.options.schedule.initial_rate = 0.02;
  const train::Result met = task.simulate(workers);
  REQUIRE(met.epochs > 1);
  REQUIRE(met.epochs < 20);
  CHECK(met.valid.error <= 0.5);
  task.options.loop_settings["target-error"] = 0;
  task.options.epochs = met.epochs - 1;
  CHECK(task.simulate(workers).valid.error > 0.5);
  task.options.epochs = met.epochs;
  const train::Result all = task.simulate(workers);
  CHECK(all.parameters_sha256 == met.parameters_sha256);
  CHECK(all.training_s == met.training_s);
}

TEST_CASE("a training ends after as many epochs without a better model as its patience allows", "[train]") {
  const std::string measure = GENERATE("error", "loss"), strategy = GENERATE("sgd", "bmuf", "async_sgd");
  const double gain = GENERATE(0., 0.02);
  CAPTURE(measure, strategy, gain);
  test::SmallTask task(400);
  task.options.epochs = 25;
  task.options.strategy = strategy;
  task.options.schedule.initial_rate = 0.05;
  const int workers = strategy == "sgd" ? 1 : 2, ranks = strategy == "async_sgd" ? 3 : workers;
  if (strategy == "async_sgd") task.options.optimiser.name = "sgd";
  metrics::RunFolder folder(task.file("whole"), metrics::RunFolder::Existing::refuse);
  task.simulate(workers, sim::free_platform(ranks), {}, {.folder = &folder});
  const auto records = test::records_of(folder);
  constexpr std::size_t patience = 2;
  double best = INFINITY;
  std::size_t epoch = 1;
  for (std::size_t without = 0; epoch < 25; ++epoch) {
    const double now = records[epoch - 1]["valid_" + measure];
    without = now < best - gain ? 0 : without + 1;
    if (without == 0) best = now;
    if (without == patience) break;
  }
  INFO("epoch " << epoch);
  REQUIRE((gain == 0 || epoch < 25));
  task.options.loop_settings = {{"patience", patience}, {"patience-measure", measure}, {"patience-gain", gain}};
  const train::Result result = task.simulate(workers, sim::free_platform(ranks));
  CHECK(result.epochs == static_cast<int>(epoch));
  if (result.epochs == 25) return;
  task.options.loop_settings.clear();
  task.options.epochs = result.epochs;
  CHECK(task.simulate(workers, sim::free_platform(ranks)).parameters_sha256 == result.parameters_sha256);
}

TEST_CASE("newbob does not go back from the epoch that meets the target", "[train]") {
  int met = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    test::SmallTask task;
    task.options.seed = seed;
    task.options.epochs = 6;
    task.options.schedule = {"newbob", 1.0, {{"newbob-restore", true}}};
    metrics::RunFolder folder(task.file("all"), metrics::RunFolder::Existing::refuse);
    task.simulate(1, sim::free_platform(1), {}, {.folder = &folder});
    const auto records = test::records_of(folder);
    double least_loss = INFINITY, least_error = INFINITY;
    for (std::size_t epoch = 1; epoch < records.size();
         ++epoch) {  // the first to have the fewest errors, but not the least loss
      const double loss = records[epoch - 1]["valid_loss"], error = records[epoch - 1]["valid_error"];
      if (loss > least_loss && error < least_error) {
        task.options.loop_settings["target-error"] = error;
        CHECK(task.simulate(1).epochs == static_cast<int>(epoch));
        ++met;
        break;
      }
      least_loss = std::min(least_loss, loss);
      least_error = std::min(least_error, error);
    }
  }
  CHECK(met > 0);
}

TEST_CASE("what needs validation samples is refused without them before it has trained", "[train]") {
  test::SmallTask task;
  data::GenerateOptions generate{
      .out = task.file("alone.h5"), .samples = 50, .valid = 0, .test = 10, .dim = 8, .classes = 6};
  data::generate(generate);
  task.options.data = generate.out;
  task.options.schedule.name = "newbob";
  CHECK_THROWS_WITH(task.simulate(1), contains_text("has no validation samples; `schedule` newbob needs some"));
  task.options.schedule.name = "constant";
  for (const char* option : {"patience", "target-error"}) {
    task.options.loop_settings = {{option, 1}};
    CHECK_THROWS_WITH(task.simulate(1), contains_text(core::format("has no validation samples; `{}` needs some", option)));
  }
}
