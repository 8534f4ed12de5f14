#include <cmath>

#include "app/command.hpp"
#include "app/comparison.hpp"
#include "app/finished_run.hpp"
#include "app/prediction.hpp"
#include "core/format.hpp"

namespace paragrad::app {
namespace {

/// The baseline of speed-ups: the first run with one worker on the same clock, unless it only pretrained.
const ComparedRun* baseline(const std::vector<ComparedRun>& runs, const std::string& clock) {
  for (const ComparedRun& run : runs)
    if (run.workers == 1 && run.clock == clock && std::isfinite(run.samples_per_s) && run.samples_per_s > 0) return &run;
  return nullptr;
}

struct CompareArguments {
  std::vector<std::string> folders;
  std::string format = "text";
};

int compare(const CompareArguments& arguments) {
  std::vector<FinishedRun> finished;
  std::vector<ComparedRun> runs;
  for (const std::string& folder : arguments.folders) {
    finished.push_back(read_finished_run(folder));
    runs.push_back(finished.back().row);
  }
  for (ComparedRun& run : runs)
    if (const ComparedRun* one = baseline(runs, run.clock)) run.speed_up = run.samples_per_s / one->samples_per_s;
  fmt::print("{}", comparison(runs, arguments.format));
  if (arguments.format == "text") fmt::print("{}", predictions(finished));
  return success;
}

}  // namespace

Command compare_command() {
  auto arguments = std::make_shared<CompareArguments>();
  auto parser = make_parser("compare", "Print finished runs side by side, and the ratios of predicted to measured times.");
  parser->add_option("runs", arguments->folders, "folders of finished runs")->required();
  parser->add_option("--format", arguments->format, "format of the table; csv and json keep full precision")
      ->check(known_names(comparison_formats()));
  set_examples(*parser,
               "paragrad compare runs/one runs/eight\n"
               "paragrad compare runs/one runs/eight --format markdown\n"
               "paragrad compare runs/* --format csv > runs.csv");
  return {parser, [arguments] { return compare(*arguments); }};
}

}  // namespace paragrad::app
