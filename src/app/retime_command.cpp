#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "app/scoring.hpp"
#include "cli/described_options.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "core/printable.hpp"
#include "core/units.hpp"
#include "predict/reached_loss.hpp"
#include "predict/retiming.hpp"
#include "system/file_replacement.hpp"
#include "worlds/shared_options.hpp"

namespace paragrad::app {
namespace {

struct RetimeArguments {
  std::vector<std::string> runs;
  std::vector<std::string> platforms;
  std::vector<std::string> vary;
  std::string time_as;
  double to_loss = 0;  // 0: not asked
  std::string result;  // "": no file
  std::string out;
  bool overwrite = false;

  void describe(core::OptionList& list) {
    list.arguments("runs", runs, "folders of finished trainings").path().required();
    list.words("platforms", platforms, "platforms to time them on: names or files, separated by commas").required();
    list.words(
        "vary", vary,
        "values of a platform's keys in place of its own, every combination: leaf.bandwidth=1MBps/10MBps,leaf.latency=1ms");
    list.text("time-as", time_as, "network to time in place of the trained one, on the same minibatches")
        .without_default("the trained one");
    list.number("to-loss", to_loss, {.least = 0},
                "validation loss; also print when each run first reaches it (interpolated, without the time of validations; "
                "0: do not)");
    describe_result(list, result).when(runs.size() == 1, "is for one run");
    list.text("out", out,
              "folder that receives a run folder for each run and platform, RUN-PLATFORM, with the run's losses and the new "
              "times")
        .path()
        .when(vary.empty(), "needs a file for each platform, and `vary` makes none");
    worlds::describe_overwrite(list, overwrite, out);
  }
};

void print_line(const std::string& run, const std::string& platform, const std::array<std::string, 4>& times,
                const std::string& exposed, const std::string& relative, const std::string& to_loss) {
  fmt::print("{:<30} {:<20} {:>10} {:>10} {:>10} {:>10} {:>8} {:>9}{:>{}}\n", core::printable(run),
             core::printable(platform), times[0], times[1], times[2], times[3], exposed, relative, to_loss,
             to_loss.empty() ? 0 : 12);
  std::fflush(stdout);
}

std::string shown_time(double seconds) { return core::format_quantity(seconds, core::Unit::time); }

void print(const std::string& run, const std::string& platform, const predict::Retiming::Records& records, double before,
           double to_loss) {
  const core::Json& end = records.back();
  const auto time = [&](const char* name) { return shown_time(end.at(name).get<double>()); };
  std::string reached;
  if (to_loss > 0) {
    const auto there = predict::first_with_loss(records, to_loss);
    reached = there ? shown_time(there->time_s) : "never";
  }
  print_line(run, platform, {time("training_s"), time("optimise_s"), time("aggregate_s"), time("validate_s")},
             core::format("{:.1f} %", 100 * end.at("exposed").get<double>()),
             core::format("{:.4g}", end.at("training_s").get<double>() / before), reached);
}

/// Adds what is known of one platform to the JSON file: values by what they are and by platform.
void add_to(core::Json& result, const std::string& platform, const predict::Retiming::Records& records, double to_loss) {
  for (const char* const name : {"training_s", "optimise_s", "aggregate_s", "validate_s", "exposed", "sent_bytes"})
    result[name][platform] = records.back().at(name);
  if (to_loss <= 0) return;
  const auto there = predict::first_with_loss(records, to_loss);
  result["reached_s"][platform] = there ? core::Json(there->time_s) : core::Json(nullptr);
  result["reached_bytes"][platform] = there ? core::Json(there->sent_bytes) : core::Json(nullptr);
  result["reached_samples"] = there ? core::Json(there->samples) : core::Json(nullptr);
}

/// Throws ConfigError if two have one name.
std::vector<sim::Platform> platforms_of(const RetimeArguments& arguments) {
  std::vector<sim::Platform> platforms;
  for (const std::string& platform : arguments.platforms)
    for (const sim::PlatformChanges& changes : sim::platform_variants(arguments.vary)) {
      platforms.push_back(sim::read_platform(platform, changes));
      const std::string& name = platforms.back().name;
      if (std::ranges::count(platforms, name, &sim::Platform::name) > 1)
        throw core::ConfigError(
            core::format("two platforms have the name '{}': rename a file, or leave one out", core::printable(name)));
    }
  return platforms;
}

std::string name_of(const std::string& path) {
  std::filesystem::path folder = std::filesystem::path(path).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  return folder.filename().string();
}

/// The folder of each run on each platform. Throws ConfigError if two are the same, or one exists and may not be replaced.
std::vector<std::string> targets_of(const RetimeArguments& arguments, const std::vector<sim::Platform>& platforms) {
  std::vector<std::string> targets;
  if (arguments.out.empty()) return targets;
  for (const std::string& run : arguments.runs)
    for (const sim::Platform& platform : platforms) {
      targets.push_back(core::format("{}/{}-{}", arguments.out, name_of(run), platform.name));
      if (std::ranges::count(targets, targets.back()) > 1)
        throw core::ConfigError(
            core::format("two runs would be written to '{}': time them one at a time, each with its --out",
                         core::printable(targets.back())));
      if (!arguments.overwrite && std::filesystem::exists(targets.back() + "/manifest.json"))
        throw core::ConfigError(core::format("'{}' already contains a run; choose another --out or add --overwrite",
                                             core::printable(targets.back())));
    }
  return targets;
}

int retime(const RetimeArguments& arguments) {
  system::require_replaceable(arguments.result);
  std::vector<predict::Retiming> runs;
  for (const std::string& folder : arguments.runs) runs.emplace_back(folder, arguments.time_as);
  const std::vector<sim::Platform> platforms = platforms_of(arguments);
  const std::vector<std::string> targets = targets_of(arguments, platforms);
  if (!arguments.time_as.empty())
    fmt::print("times are those of {} ({} parameters)\n", core::printable(arguments.time_as), runs.front().parameters());
  print_line("run", "platform", {"time", "optimise", "aggregate", "validate"}, "exposed", "relative",
             arguments.to_loss > 0 ? "to the loss" : "");
  core::Json result = core::Json::object();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const double before = runs[i].original().back().at("training_s").get<double>();
    const std::string run = arguments.runs[i];
    print(run, runs[i].was_emulated() ? runs[i].platform() : "measured", runs[i].original(), before, arguments.to_loss);
    for (std::size_t k = 0; k < platforms.size(); ++k) {
      const sim::Platform& platform = platforms[k];
      const predict::Retiming::Records records = runs[i].on(platform);
      print(run, platform.name, records, before, arguments.to_loss);
      add_to(result, platform.name, records, arguments.to_loss);
      if (!targets.empty()) runs[i].write(targets[i * platforms.size() + k], arguments.overwrite, platform, records);
    }
  }
  if (!arguments.result.empty())
    system::replace_file(arguments.result, [&](std::ostream& out) { out << core::text_of(result, 1) << "\n"; });
  return cli::success;
}

}  // namespace

cli::Command retime_command() {
  return cli::command_of<RetimeArguments>(
      {.name = "retime",
       .description =
           "Print how long finished trainings would take on other platforms, without training again.\n"
           "The times are those of `paragrad simulate` there: train once, and price any network. Not for strategies "
           "with servers, whose results depend on times.",
       .examples = "paragrad retime runs/eight --platforms k40m-fdr,ethernet-1g\n"
                   "paragrad retime runs/eight --platforms ethernet-10g,ethernet-1g --out runs/priced\n"
                   "paragrad retime runs/eight --platforms ethernet-1g --time-as 40-1024-1024-120:relu\n"
                   "paragrad retime runs/eight --platforms ethernet-1g --vary leaf.bandwidth=10MBps/1GBps --to-loss 1.6"},
      [](RetimeArguments& arguments, const CLI::App&) { return retime(arguments); });
}

}  // namespace paragrad::app
