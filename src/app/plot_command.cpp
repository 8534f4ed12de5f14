#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "app/commands.hpp"
#include "app/program_parser.hpp"
#include "cli/described_options.hpp"
#include "core/build_info.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "runs/finished_run.hpp"
#include "system/child_process.hpp"
#include "system/own_program.hpp"

namespace paragrad::app {
namespace {

namespace fs = std::filesystem;

struct PlotArguments {
  std::vector<std::string> runs;
  std::string y = "error", x = "epochs";
  std::vector<std::string> out{"plot.svg"};
  bool log_x = false, log_y = false;

  void describe(core::OptionList& list) {
    list.arguments("runs", runs,
                   "folders of runs, or of searches with all their runs; of unfinished runs, what there is so far")
        .path()
        .required();
    // As in src/python/paragrad/plotting.py, which draws.
    list.choice("y", y, {"error", "loss", "train_error", "train_loss"},
                "vertical axis; error and loss are those of the validation set");
    list.choice("x", x, {"epochs", "time", "bytes"},
                "horizontal axis: passes over the training set, simulated or wall-clock time, or bytes sent per worker");
    list.words("out", out, "files to write, separated by commas; their names end in .svg or .png");
    list.flag("log-x", log_x, "logarithmic horizontal axis");
    list.flag("log-y", log_y, "logarithmic vertical axis");
  }
};

/// The folder of the Python package: the installed program's, or that of the source.
std::string package_folder() {
  const fs::path installed = fs::path(system::own_program()).parent_path().parent_path() / "share/paragrad/python";
  const fs::path source = core::build_info().python;
  for (const fs::path& folder : {installed, source})
    if (fs::exists(folder / "paragrad/plot_command.py")) return folder;
  throw core::ConfigError(
      core::format("the Python package that draws is neither in {} nor in {}: install Paragrad with cmake --install",
                   installed.string(), source.string()));
}

/// The first Python that has matplotlib: that of the PATH, or the system's own, which alone sees the system's packages.
std::string python_with_matplotlib() {
  const std::string probe =
      "import sys; from importlib.util import find_spec; "
      "sys.exit(sys.version_info < (3, 11) or not find_spec('matplotlib'))";
  for (const std::string python : {"python3", "/usr/bin/python3"})
    if (system::ChildProcess({python, "-c", probe}, "/dev/null").wait() == 0) return python;
  throw core::ConfigError(
      "figures are drawn by matplotlib in Python 3.11 or newer, which no Python here has: install python3-matplotlib");
}

int plot(PlotArguments arguments) {
  arguments.runs = runs::without_files_of_searches(std::move(arguments.runs));
  for (const std::string& run : arguments.runs)
    if (!runs::is_search(run)) runs::read_manifest(run);
  const char* others = std::getenv("PYTHONPATH");
  const std::string path = package_folder() + (others && *others ? core::format(":{}", others) : "");
  std::vector<std::string> command{"/usr/bin/env", "PYTHONPATH=" + path,   python_with_matplotlib(), "-P",
                                   "-m",           "paragrad.plot_command"};
  for (const auto& [option, value] : {std::pair("--y", arguments.y), std::pair("--x", arguments.x)})
    command.insert(command.end(), {option, value});
  for (const std::string& file : arguments.out) command.push_back("--out=" + file);
  if (arguments.log_x) command.push_back("--log-x");
  if (arguments.log_y) command.push_back("--log-y");
  command.push_back("--defaults=" + default_config());
  command.push_back("--");
  command.insert(command.end(), arguments.runs.begin(), arguments.runs.end());
  return system::ChildProcess(command, "").wait();
}

}  // namespace

cli::Command plot_command() {
  return cli::command_of<PlotArguments>(
      {.name = "plot",
       .description =
           "Draw the learning curves of runs.\n"
           "Curves are named by the options in which the runs differ. Runs that differ only in their seed are "
           "one curve, their mean, with a band from the lowest to the highest. Needs Python 3.11 with matplotlib.",
       .examples = "paragrad plot runs/one runs/eight\n"
                   "paragrad plot runs/one runs/eight --y loss --log-y --out curves.svg,curves.png"},
      [](PlotArguments& arguments, const CLI::App&) { return plot(arguments); });
}

}  // namespace paragrad::app
