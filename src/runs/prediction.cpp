#include "runs/prediction.hpp"

#include <cmath>
#include <set>
#include <vector>

#include "core/format.hpp"
#include "core/printable.hpp"
#include "runs/run_options.hpp"

namespace paragrad::runs {
namespace {

/// Each command has options of its own; the common ones must be equal.
bool agree(const RunOptions& predicted, const RunOptions& measured) {
  const std::set<std::string>& free = options_with(core::OptionMark::unpredicted);
  for (const auto& [key, value] : predicted) {
    const auto other = measured.find(key);
    if (other != measured.end() && other->second != value && !free.contains(key)) return false;
  }
  return true;
}

std::string ratio(double predicted, double measured) {
  const double value = predicted / measured;
  return std::isfinite(value) ? core::format("{:.2f}", value) : "-";
}

std::string line_of(const ComparedRun& predicted, const ComparedRun& measured) {
  return core::format("{:<24} {:>9} {:>9} {:>9} {:>9}  {} over {}\n", "", ratio(predicted.training_s, measured.training_s),
                      ratio(predicted.optimise_s, measured.optimise_s), ratio(predicted.aggregate_s, measured.aggregate_s),
                      ratio(predicted.validate_s, measured.validate_s), core::printable(predicted.folder),
                      core::printable(measured.folder));
}

}  // namespace

std::string predictions(std::span<const FinishedRun> runs) {
  std::vector<RunOptions> options;
  for (const FinishedRun& run : runs) options.push_back(options_of(run.row.folder));
  std::string lines;
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (std::size_t j = 0; j < runs.size(); ++j)
      if (runs[i].row.clock == "simulated" && runs[j].row.clock != "simulated" && runs[i].shape == runs[j].shape &&
          agree(options[i], options[j]))
        lines += line_of(runs[i].row, runs[j].row);
  if (lines.empty()) return "";
  return core::format("\npredicted over measured: {:>9} {:>9} {:>9} {:>9}\n", "time", "optimise", "aggregate", "validate") +
         lines;
}

}  // namespace paragrad::runs
