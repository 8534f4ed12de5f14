#include <algorithm>
#include <cmath>
#include <filesystem>

#include "app/commands.hpp"
#include "app/comparison.hpp"
#include "app/finished_run.hpp"
#include "app/prediction.hpp"
#include "app/run_labels.hpp"
#include "app/run_output.hpp"
#include "cli/described_options.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "system/files.hpp"

namespace paragrad::app {
namespace fs = std::filesystem;
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

  void describe(core::OptionList& list) {
    list.arguments("runs", folders, "folders of finished runs; of a search's folder, its finished runs").required();
    list.choice("format", format, comparison_formats(), "format of the table; csv and json keep full precision");
  }
};

/// Whether the run is one of a search, which may have failed or not have been reached yet.
bool is_of_search(const std::string& folder) {
  fs::path path = fs::path(folder).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // it ends in a slash
  const fs::path above = path.parent_path();
  return is_search(above.empty() ? "." : above.string());
}

/// Of a search's folder those of its runs, in the order of their names; otherwise the folder itself.
std::vector<std::string> run_folders(const std::string& folder) {
  if (!is_search(folder)) return {folder};
  std::vector<std::string> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.is_directory()) found.push_back(entry.path().string());
  std::ranges::sort(found);
  return found;
}

std::string why_unfinished(const std::string& folder) {
  const std::string failure = folder + ".failure";
  return fs::is_regular_file(failure) ? system::read_text(failure) : "it has not finished";
}

/// The runs to compare. Those of a search that have not finished are left out, with a note on stderr.
std::vector<FinishedRun> finished_runs(const std::vector<std::string>& given) {
  std::vector<FinishedRun> finished;
  for (const std::string& one : without_files_of_searches(given))
    for (const std::string& folder : run_folders(one)) {
      if (is_of_search(folder) && !(fs::exists(folder + "/manifest.json") && read_manifest(folder).contains("result")))
        cli::print_error(core::format("'{}' is left out: {}", folder, why_unfinished(folder)));
      else
        finished.push_back(read_finished_run(folder));
    }
  if (finished.empty()) throw core::ConfigError(core::format("no run of '{}' has finished", given.front()));
  return finished;
}

int compare(const CompareArguments& arguments) {
  const std::vector<FinishedRun> finished = finished_runs(arguments.folders);
  std::vector<ComparedRun> runs;
  std::vector<RunOptions> options;
  for (const FinishedRun& run : finished) {
    runs.push_back(run.row);
    options.push_back(options_of(run.row.folder));
  }
  const std::vector<std::string> labels = differing_options(options);
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i].options = labels[i];
  for (ComparedRun& run : runs)
    if (const ComparedRun* one = baseline(runs, run.clock)) run.speed_up = run.samples_per_s / one->samples_per_s;
  fmt::print("{}", comparison(runs, arguments.format));
  if (arguments.format == "text") fmt::print("{}", predictions(finished));
  return cli::success;
}

}  // namespace

cli::Command compare_command() {
  auto arguments = std::make_shared<CompareArguments>();
  auto parser =
      cli::make_parser("compare", "Print finished runs side by side, and the ratios of predicted to measured times.");
  cli::add_options(*parser, *arguments);
  cli::set_examples(*parser,
                    "paragrad compare runs/one runs/eight\n"
                    "paragrad compare runs/one runs/eight --format markdown\n"
                    "paragrad compare runs/* --format csv > runs.csv");
  return {parser, [arguments] { return compare(*arguments); }};
}

}  // namespace paragrad::app
