#include "app/prediction.hpp"

#include <cmath>
#include <set>
#include <vector>

#include "app/run_output.hpp"
#include "core/format.hpp"
#include "core/printable.hpp"

namespace paragrad::app {
namespace {

/// Options that may differ between two runs of the same training: data path, device, seed, initial weights, model kept.
const std::set<std::string> free_to_differ{"data", "device", "init", "keep-best", "seed"};

struct Run {
  std::string folder;
  bool simulated = false;
  std::map<std::string, std::string> options;
  core::Json shape;  ///< values that the options leave to defaults and the data
  core::Json result;
};

Run run_of(const FinishedRun& finished) {
  const core::Json& run = finished.manifest.at("run");
  const core::Json& result = finished.manifest.at("result");
  return {finished.folder, run.at("world") == "simulation", options_of(finished.folder),
          core::Json{run.at("workers"), run.at("splits"), run.at("blocks"), result.at("epochs"), result.at("samples")},
          result};
}

/// Each command has options of its own; the common ones must be equal.
bool same_training(const Run& predicted, const Run& measured) {
  for (const auto& [key, value] : predicted.options) {
    const auto other = measured.options.find(key);
    if (other != measured.options.end() && other->second != value && !free_to_differ.contains(key)) return false;
  }
  return predicted.shape == measured.shape;
}

std::string ratio(const Run& predicted, const Run& measured, const char* phase) {
  const double value = predicted.result.at(phase).get<double>() / measured.result.at(phase).get<double>();
  return std::isfinite(value) ? core::format("{:.2f}", value) : "-";
}

}  // namespace

void print_predictions(std::span<const FinishedRun> finished) {
  std::vector<Run> runs;
  for (const FinishedRun& run : finished) runs.push_back(run_of(run));
  bool found = false;
  for (const Run& predicted : runs) {
    for (const Run& measured : runs) {
      if (!predicted.simulated || measured.simulated || !same_training(predicted, measured)) continue;
      if (!found)
        fmt::print("\npredicted over measured: {:>9} {:>9} {:>9} {:>9}\n", "time", "optimise", "aggregate", "validate");
      found = true;
      fmt::print("{:<24} {:>9} {:>9} {:>9} {:>9}  {} over {}\n", "", ratio(predicted, measured, "training_s"),
                 ratio(predicted, measured, "optimise_s"), ratio(predicted, measured, "aggregate_s"),
                 ratio(predicted, measured, "validate_s"), core::printable(predicted.folder),
                 core::printable(measured.folder));
    }
  }
}

}  // namespace paragrad::app
