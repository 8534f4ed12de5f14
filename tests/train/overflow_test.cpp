// Numbers that are too large: a training ends with finite weights, or with an error that says what became infinite.
#include <algorithm>
#include <array>
#include <cmath>

#include "catch.hpp"
#include "core/errors.hpp"
#include "data/writer.hpp"
#include "support.hpp"

namespace {

using namespace paragrad;

/// Features and targets of this size, without validation samples, whose loss would show it.
void write_samples(const std::string& path, float size) {
  data::DatasetInfo info;
  info.name = "large";
  info.dim = 3;
  info.widths.targets = 1;
  data::DatasetWriter writer(path, info);
  writer.begin(data::Subset::train, 32);
  for (std::size_t row = 0; row < 32; ++row) {
    const float sign = row % 2 == 0 ? 1.f : -1.f;
    writer.append(std::span<const float>(std::array{size, sign * size, 0.5f * size}), {},
                  {.targets = std::array{sign * size}});
  }
  writer.begin(data::Subset::valid, 0);
  writer.begin(data::Subset::test, 0);
  writer.finish();
}

}  // namespace

TEST_CASE("large numbers end in finite weights or in an error, with every strategy and optimiser", "[train]") {
  const float size = GENERATE(1e3f, 1e10f, 1e18f, 1e25f);
  const double rate = GENERATE(1e-3, 1e30);
  test::SmallTask task;
  task.options.data = task.file("large.h5");
  write_samples(task.options.data, size);
  task.options.model = "3-1";
  task.options.loss = "squared_error";
  task.options.minibatch = 0;
  task.options.blocks = 1;
  task.options.epochs = 1;
  task.options.schedule.initial_rate = rate;
  int finite = 0, refused = 0;
  for (const strategies::StrategyEntry& strategy : strategies::strategies())
    for (const core::EntryInfo& rule : optim::optimiser_catalogue().entries) {
      task.options.strategy = strategy.info.name;
      task.options.optimiser.name = rule.name;
      const int workers = strategy.info.name == "sgd" ? 1 : 2;
      const train::TrainingData source = train::open_training_data(task.options, workers);
      CAPTURE(strategy.info.name, rule.name, size, rate);
      std::vector<float> model;
      try {
        sim::run(sim::free_platform(workers), workers, {}, [&](sim::EmulatedWorker& worker) {
          const train::Result mine = train::train(worker, task.options, {source, {}}, {.last_phase = false});
          if (worker.rank() == 0) model = mine.model;
        });
      } catch (const core::ConfigError& error) {
        if (std::string(error.what()).find("choose `optimiser`") == std::string::npos &&
            std::string(error.what()).find("another `optimiser`") == std::string::npos) {
          CHECK_THAT(error.what(), contains_text("infinite") || contains_text("the loss became"));
          ++refused;
        }
        continue;
      }
      CHECK(std::ranges::all_of(model, [](float weight) { return std::isfinite(weight); }));
      ++finite;
    }
  CHECK((size > 1e3f || rate > 1 || finite > 0));
  CHECK((size < 1e25f || refused > 0));
}
