#include <string>
#include <utility>
#include <vector>

#include "app/commands.hpp"
#include "app/program_parser.hpp"
#include "app/python_figure.hpp"
#include "cli/described_options.hpp"
#include "runs/finished_run.hpp"

namespace paragrad::app {
namespace {

struct PlotArguments {
  std::vector<std::string> runs;
  std::string y = "error", x = "epochs";
  std::vector<std::string> out{"plot.svg"};
  std::string title;
  std::vector<std::string> names;
  bool best = false, log_x = false, log_y = false;

  void describe(core::OptionList& list) {
    list.arguments("runs", runs,
                   "folders of runs, or of searches with all their runs; of unfinished runs, what there is so far")
        .path()
        .required();
    // As in src/python/paragrad/plotting.py, which draws.
    list.choice("y", y, {"error", "loss", "accuracy", "train_error", "train_loss"},
                "vertical axis; error, loss and accuracy are those of the validation set");
    list.choice("x", x, {"epochs", "time", "bytes"},
                "horizontal axis: passes over the training set, simulated or wall-clock time, or bytes sent per worker");
    list.words("out", out, "files to write, separated by commas; their names end in .svg, .pdf or .png");
    list.text("title", title, "title of the figure");
    list.words("names", names,
               "names of the curves, separated by commas, in their order (default: the options in which the runs differ)");
    list.flag("best", best, "of a search, draw only the best configuration of each of its methods, under its name");
    list.flag("log-x", log_x, "logarithmic horizontal axis");
    list.flag("log-y", log_y, "logarithmic vertical axis");
  }
};

int plot(PlotArguments arguments) {
  arguments.runs = runs::without_files_of_searches(std::move(arguments.runs));
  for (const std::string& run : arguments.runs)
    if (!runs::is_search(run)) runs::read_manifest(run);
  std::vector<std::string> command;
  for (const auto& [option, value] : {std::pair("--y", arguments.y), std::pair("--x", arguments.x)})
    command.insert(command.end(), {option, value});
  for (const std::string& file : arguments.out) command.push_back("--out=" + file);
  for (const std::string& name : arguments.names) command.push_back("--names=" + name);
  if (!arguments.title.empty()) command.push_back("--title=" + arguments.title);
  if (arguments.best) command.push_back("--best");
  if (arguments.log_x) command.push_back("--log-x");
  if (arguments.log_y) command.push_back("--log-y");
  command.push_back("--defaults=" + default_config());
  command.push_back("--");
  command.insert(command.end(), arguments.runs.begin(), arguments.runs.end());
  return draw_in_python("plot_command", command);
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
                   "paragrad plot runs/one runs/eight --y loss --log-y --out curves.svg,curves.png\n"
                   "paragrad plot searches/methods --best --x bytes --title \"Error over bytes\" --out methods.pdf"},
      [](PlotArguments& arguments, const CLI::App&) { return plot(arguments); });
}

}  // namespace paragrad::app
