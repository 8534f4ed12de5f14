#include <cmath>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "cli/described_options.hpp"
#include "cli/option_use.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "core/printable.hpp"
#include "core/units.hpp"
#include "runs/environment.hpp"
#include "runs/measurement_folder.hpp"
#include "sim/failures/goodput.hpp"
#include "worlds/shared_options.hpp"

namespace paragrad::app {
namespace {

struct GoodputArguments {
  std::string platform;
  std::vector<int> nodes;
  std::vector<int> groups{1};
  std::vector<std::string> save_every;
  std::uint64_t failures = 200'000;
  std::string out;
  bool overwrite = false;

  void describe(core::OptionList& list) {
    list.text("platform", platform, "platform file with a section [failures]").path().required();
    list.numbers("nodes", nodes, {.least = 1, .most = 10000000},
                 "numbers of nodes, separated by commas (default: that of the platform file)");
    list.numbers("groups", groups, {.least = 1, .most = 1000000},
                 "numbers of groups of nodes that fail independently and do not wait for each other, separated by commas; 1 "
                 "is synchronous training");
    list.words("save-every", save_every,
               "work between two saved states, as times or auto (Daly's estimate), separated by commas (default: as in the "
               "platform file)");
    list.number("failures", failures, {.least = 1000, .most = 10'000'000'000}, "number of failures to simulate");
    list.text("out", out, "run folder for configuration, manifest and the table's records").path();
    worlds::describe_overwrite(list, overwrite, out);
  }
};

/// One line of the table.
struct Row {
  int nodes = 0;
  int groups = 0;
  sim::Goodput goodput;
  double first_order = 0;
};

core::Json record_of(const Row& row) {
  const sim::Goodput& goodput = row.goodput;
  return {{"nodes", row.nodes},
          {"groups", row.groups},
          {"save_every_s", goodput.save_every_s ? core::Json(*goodput.save_every_s) : core::Json(nullptr)},
          {"goodput", goodput.useful},
          {"standard_error", goodput.standard_error},
          {"first_order", row.first_order},
          {"lost", goodput.lost},
          {"saving", goodput.saving},
          {"stopped", goodput.stopped},
          {"absent", goodput.absent},
          {"failures", goodput.failures},
          {"time_between_failures_s", goodput.time_between_failures_s}};
}

void print_heading() {
  fmt::print("{:>8} {:>7} {:>14} {:>11} {:>16} {:>12} {:>7} {:>7} {:>8} {:>7}\n", "devices", "groups", "failure every",
             "saved every", "goodput", "first order", "lost", "saving", "stopped", "absent");
}

void print(const Row& row, int devices_per_node) {
  const sim::Goodput& goodput = row.goodput;
  const auto percent = [](double fraction) { return core::format("{:.1f} %", 100 * fraction); };
  fmt::print("{:>8} {:>7} {:>14} {:>11} {:>16} {:>12} {:>7} {:>7} {:>8} {:>7}\n", row.nodes * devices_per_node, row.groups,
             core::format_quantity(goodput.time_between_failures_s, core::Unit::time),
             goodput.save_every_s ? core::format_quantity(*goodput.save_every_s, core::Unit::time) : "-",
             core::format("{:.1f} ± {:.1f} %", 100 * goodput.useful, 100 * goodput.standard_error), percent(row.first_order),
             percent(goodput.lost), percent(goodput.saving), percent(goodput.stopped), percent(goodput.absent));
  std::fflush(stdout);
}

/// The platform's failures, with each of the intervals of --save-every in place of the file's.
std::vector<sim::Platform::Failures> variants(const GoodputArguments& arguments, const sim::Platform::Failures& given) {
  if (arguments.save_every.empty()) return {given};
  std::vector<sim::Platform::Failures> all;
  for (const std::string& interval : arguments.save_every) {
    sim::Platform::Failures failures = given;
    failures.loses_work = true;
    failures.save_every_s = interval == "auto" ? 0 : core::parse_quantity(interval, core::Unit::time);
    if (interval == "auto" && given.save_s == 0)
      throw core::ConfigError("--save-every auto needs the time that saving takes: give failures.save in the platform file");
    if (interval != "auto" && failures.save_every_s <= 0)
      throw core::ConfigError(core::format("--save-every {}: give a time above 0", core::printable(interval)));
    all.push_back(failures);
  }
  return all;
}

int run(const GoodputArguments& arguments, const std::string& config) {
  const sim::Platform platform = sim::read_platform(arguments.platform);
  if (!platform.failures)
    throw core::ConfigError(
        core::format("the platform file '{}' lacks the section [failures]", core::printable(arguments.platform)));
  if (std::isinf(platform.failures->mtbf_s))
    throw core::ConfigError(core::format("the platform file '{}' does not say how often devices fail: give failures.mtbf",
                                         core::printable(arguments.platform)));
  core::Json manifest = runs::environment();
  manifest["run"] = {{"world", "simulation"}, {"failures", arguments.failures}};
  manifest["platform"] = {{"file", arguments.platform}, {"file_sha256", platform.sha256}};
  runs::MeasurementFolder folder(arguments.out, arguments.overwrite, config, std::move(manifest));
  const int devices = platform.devices_per_node;
  for (const int nodes : arguments.nodes.empty() ? std::vector{platform.nodes} : arguments.nodes)
    for (const int groups : arguments.groups)
      for (const sim::Platform::Failures& failures : variants(arguments, *platform.failures)) {
        const Row row{nodes, groups, sim::simulate_goodput(failures, nodes, devices, groups, arguments.failures),
                      sim::first_order_goodput(failures, nodes, devices, groups)};
        if (folder.is_empty()) print_heading();
        print(row, devices);
        folder.add(record_of(row));
      }
  folder.finish({{"peak_memory_bytes", runs::peak_memory_bytes()}});
  return cli::success;
}

}  // namespace

cli::Command goodput_command() {
  return cli::command_of<GoodputArguments>(
      {.name = "goodput",
       .description = "Predict which part of a cluster's time is useful work when devices fail.\n"
                      "How often they fail and what it costs is in the section [failures] of a platform file.",
       .examples = "paragrad goodput --platform experiments/goodput/elastic.toml --nodes 9375,150000 --groups 1,8\n"
                   "paragrad goodput --platform experiments/failures/failing.toml --save-every 1ms,5ms,25ms,auto",
       .reads_config = true},
      [](GoodputArguments& arguments, const CLI::App& parser) {
        return run(arguments, cli::use_of(parser, arguments).config());
      });
}

}  // namespace paragrad::app
