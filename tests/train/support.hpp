#pragma once

#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "data/generate.hpp"
#include "metrics/run_folder.hpp"
#include "sim/simulation.hpp"
#include "temporary_folder.hpp"
#include "tests/settings.hpp"
#include "train/train.hpp"

namespace paragrad::test {

/// What a run wrote down of each epoch.
inline std::vector<core::Json> records_of(const metrics::RunFolder& folder) {
  std::ifstream lines(folder.file("metrics.jsonl"));
  std::vector<core::Json> records;
  for (std::string line; std::getline(lines, line);) records.push_back(core::Json::parse(line));
  return records;
}

/// With a folder for state: what a run of these options needs to keep it, and to resume from what is there.
inline train::Output resumable(train::Output output, const train::TrainingOptions& options,
                               const train::TrainingData& source) {
  if (output.state_folder.empty()) return output;
  output.run = train::identify_run("", source);
  output.resume_phase = train::saved_phase(output.state_folder, options, output.run);
  return output;
}

/// Nodes so slow, at 1 flop/ns, that a small task's arithmetic takes longer than its messages.
inline sim::Platform slow_cluster(int nodes) {
  sim::Platform platform = sim::free_platform(nodes);
  platform.device = {1e9, 1e9, 1, 1, 1e-6};
  platform.leaf = {{2e-6, 1e9}, 1};
  return platform;
}

/// Sets an option of the run's strategy, if the strategy has that option, itself or through what it chooses.
inline void give(train::TrainingOptions& options, const std::string& name, const core::Setting& value) {
  core::Settings settings = options.strategy_settings;
  settings[name] = value;
  options.strategy_settings = used_by(options.strategy, settings);
}

/// A temporary folder with a small generated data set of 8 features and 6 classes; gone afterwards.
class SmallTask {
 public:
  explicit SmallTask(std::size_t samples = 613) {
    data::GenerateOptions generate;
    generate.out = file("task.h5");
    generate.samples = samples;
    generate.valid = 101;
    generate.test = 103;
    generate.dim = 8;
    generate.classes = 6;
    generate.mixtures = 1;
    generate.sequence_length = 20;
    data::generate(generate);
    options.data = generate.out;
    options.model = "8-12-6:sigmoid";
    options.minibatch = 16;
    options.blocks = 4;
    options.epochs = 2;
    options.schedule.initial_rate = 0.2;
  }
  std::string file(const std::string& name) const { return folder_.file(name); }

  /// Trains with emulated workers; worker 0's result.
  train::Result simulate(int workers, const sim::Platform& platform, const sim::SimulationOptions& how = {},
                         const train::Output& given = {}) const {
    const bool computes = backend::make_device(how.device)->computes();
    const train::TrainingData source = computes ? train::open_training_data(options, workers)
                                                : train::imagine_training_data(options, workers, imaginary_samples);
    const train::Output output = resumable(given, options, source);
    train::Result result;
    sim::SimulationOptions simulation = how;
    if (simulation.row_bytes == 0) simulation.row_bytes = source.info.bytes_to_read();
    sim::run(platform, workers, simulation, [&](sim::EmulatedWorker& worker) {
      const train::WorkerInput input{source, [&](auto samples) { return worker.read_from_storage(std::move(samples)); }};
      const train::Result mine = train::train(worker, options, input, output);
      if (worker.rank() == 0) result = mine;
    });
    return result;
  }
  train::Result simulate(int workers) const { return simulate(workers, sim::free_platform(workers)); }

  train::TrainingOptions options;
  std::array<std::size_t, 3> imaginary_samples{};  ///< without a file, see train::imagine_training_data

 private:
  TemporaryFolder folder_;
};

}  // namespace paragrad::test
