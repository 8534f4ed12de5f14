#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "app/commands.hpp"
#include "app/program_parser.hpp"
#include "cli/described_options.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "runs/comparison.hpp"
#include "runs/finished_run.hpp"
#include "runs/prediction.hpp"
#include "runs/run_labels.hpp"
#include "runs/run_options.hpp"
#include "system/files.hpp"

namespace paragrad::app {
namespace fs = std::filesystem;
namespace {

/// The baseline of speed-ups: the first run with one worker on the same clock, unless it only pretrained.
const runs::ComparedRun* baseline(const std::vector<runs::ComparedRun>& runs, const std::string& clock) {
  for (const runs::ComparedRun& run : runs)
    if (run.workers == 1 && run.clock == clock && std::isfinite(run.samples_per_s) && run.samples_per_s > 0) return &run;
  return nullptr;
}

struct CompareArguments {
  std::vector<std::string> folders;
  std::string format = "text";
  bool means = false;

  void describe(core::OptionList& list) {
    list.arguments("runs", folders, "folders of finished runs; of a search's folder, its finished runs").path().required();
    list.choice("format", format, runs::comparison_formats(), "format of the table; csv and json keep full precision");
    list.flag("means", means, "print runs that differ only in their seed as one: means, and standard deviations of a seed");
  }
};

/// Whether the run is one of a search, which may have failed or not have been reached yet.
bool is_of_search(const std::string& folder) {
  fs::path path = fs::path(folder).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // it ends in a slash
  const fs::path above = path.parent_path();
  return runs::is_search(above.empty() ? "." : above.string());
}

/// Of a search's folder those of its runs, in the order of their names; otherwise the folder itself.
std::vector<std::string> run_folders(const std::string& folder) {
  if (!runs::is_search(folder)) return {folder};
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
std::vector<runs::FinishedRun> finished_runs(const std::vector<std::string>& given) {
  std::vector<runs::FinishedRun> finished;
  for (const std::string& one : runs::without_files_of_searches(given))
    for (const std::string& folder : run_folders(one)) {
      if (is_of_search(folder) && !(fs::exists(folder + "/manifest.json") && runs::read_manifest(folder).contains("result")))
        cli::print_error(core::format("'{}' is left out: {}", folder, why_unfinished(folder)));
      else
        finished.push_back(runs::read_finished_run(folder));
    }
  if (finished.empty()) throw core::ConfigError(core::format("no run of '{}' has finished", given.front()));
  return finished;
}

/// Runs as they are, or put together with those that differ only in their seed; and the options of each.
struct Rows {
  std::vector<runs::ComparedRun> runs;
  std::vector<runs::RunOptions> options;
};

Rows each_run(const std::vector<runs::FinishedRun>& finished) {
  Rows rows;
  for (const runs::FinishedRun& run : finished) {
    rows.runs.push_back(run.row);
    rows.options.push_back(runs::options_of(run.row.folder));
  }
  return rows;
}

bool have_distinct_seeds(const std::vector<std::size_t>& places, const Rows& each) {
  std::set<std::string> seeds;
  for (const std::size_t place : places) {
    const auto seed = each.options[place].find("seed");
    if (!seeds.insert(seed == each.options[place].end() ? "" : seed->second).second) return false;
  }
  return true;
}

/// In the order of the first run of each. Runs that have the same seed, too, stay as they are. The same rule as in
/// src/python/paragrad/labels.py.
Rows means_over_seeds(const Rows& each) {
  using Alike = std::tuple<runs::RunOptions, int, std::string>;  // options, workers, clock
  std::vector<Alike> order;
  std::map<Alike, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < each.runs.size(); ++i) {
    Alike alike{runs::without_seed(each.options[i]), each.runs[i].workers, each.runs[i].clock};
    auto& group = groups[alike];
    if (group.empty()) order.push_back(std::move(alike));
    group.push_back(i);
  }
  Rows rows;
  const auto add = [&](const std::vector<std::size_t>& places, const runs::RunOptions& options) {
    std::vector<runs::ComparedRun> of;
    for (const std::size_t place : places) of.push_back(each.runs[place]);
    rows.runs.push_back(runs::mean_of(of));
    rows.options.push_back(options);
  };
  for (const Alike& alike : order) {
    const std::vector<std::size_t>& places = groups.at(alike);
    if (have_distinct_seeds(places, each))
      add(places, std::get<0>(alike));
    else
      for (const std::size_t place : places) add({place}, each.options[place]);
  }
  return rows;
}

int compare(const CompareArguments& arguments) {
  const std::vector<runs::FinishedRun> finished = finished_runs(arguments.folders);
  Rows rows = each_run(finished);
  if (arguments.means) rows = means_over_seeds(rows);
  const std::vector<std::string> labels = runs::differing_options(rows.options, default_config());
  for (std::size_t i = 0; i < rows.runs.size(); ++i) rows.runs[i].options = labels[i];
  for (runs::ComparedRun& run : rows.runs)
    if (const runs::ComparedRun* one = baseline(rows.runs, run.clock)) run.speed_up = run.samples_per_s / one->samples_per_s;
  fmt::print("{}", runs::comparison(rows.runs, arguments.format));
  if (arguments.format == "text") fmt::print("{}", runs::predictions(finished));
  return cli::success;
}

}  // namespace

cli::Command compare_command() {
  return cli::command_of<CompareArguments>(
      {.name = "compare",
       .description = "Print finished runs side by side, and the ratios of predicted to measured times.",
       .examples = "paragrad compare runs/one runs/eight\n"
                   "paragrad compare runs/one runs/eight --format markdown\n"
                   "paragrad compare searches/methods --means\n"
                   "paragrad compare runs/* --format csv > runs.csv"},
      [](CompareArguments& arguments, const CLI::App&) { return compare(arguments); });
}

}  // namespace paragrad::app
