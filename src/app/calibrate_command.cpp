#include <filesystem>
#include <optional>

#include "app/commands.hpp"
#include "backend/device.hpp"
#include "cli/described_options.hpp"
#include "cli/option_values.hpp"
#include "comm/mpi/mpi_session.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "core/printable.hpp"
#include "core/units.hpp"
#include "runs/environment.hpp"
#include "sim/calibration/calibration.hpp"
#include "sim/calibration/platform_text.hpp"
#include "system/file_replacement.hpp"
#include "worlds/shared_options.hpp"
#include "worlds/world.hpp"

namespace paragrad::app {
namespace {

namespace calibration = sim::calibration;
using core::Unit;

struct CalibrateArguments {
  std::string out = "this-machine.toml";
  std::string device = "cpu";
  std::string largest_message = "64MB";
  int passes = 12;
  bool overwrite = false;
  bool quiet = false;

  void describe(core::OptionList& list) {
    list.text("out", out, "platform file to write").path();
    worlds::describe_device(list, device);
    list.text("largest-message", largest_message, "size of the longest message to measure")
        .when(comm::under_mpiexec(), "is for messages between ranks: start several with mpiexec");
    list.number("passes", passes, {.least = 1, .most = 1000},
                "number of passes over all sizes; the fastest time of each size counts");
    list.flag("overwrite", overwrite, "replace an existing `out` file");
    list.flag("quiet", quiet, "print only the comparison of measured and simulated times")
        .mark(core::OptionMark::of_one_rank);
  }
};

std::string time(double seconds) { return core::format_quantity(seconds, Unit::time); }

std::vector<std::string> remarks(const comm::Worker& worker, const std::string& device) {
  const core::Json known = runs::environment(device);
  const auto text = [&](const char* section, const char* key) { return known[section][key].get<std::string>(); };
  return {core::format("Measured by `paragrad calibrate` ({} worker{}, device {}) on {}.", worker.size(),
                       worker.size() == 1 ? "" : "s", device,
                       text("host", known["host"].contains("device") ? "device" : "processor")),
          core::format("Program: commit {}, {}, {}.", text("program", "commit").substr(0, 12), text("program", "compiler"),
                       text("program", "blas")),
          worker.size() == 1 ? "[peer] was not measured (only one worker): its values are those of a copy in memory."
                             : "The latencies include processor overheads."};
}

/// The file to write, opened before anything is measured to make sure that it can be written.
class PlatformFile {
 public:
  explicit PlatformFile(const CalibrateArguments& arguments) : file_(allowed(arguments)) {}

  void write(const std::string& text) {
    file_.write(text);
    file_.commit();
  }

 private:
  static const std::string& allowed(const CalibrateArguments& arguments) {
    if (!arguments.overwrite && std::filesystem::exists(arguments.out))
      throw core::ConfigError(core::format("'{}' already exists: choose another --out or add --overwrite", arguments.out));
    return arguments.out;
  }

  system::FileReplacement file_;
};

void print_points(const char* level, const calibration::Level& measured, const calibration::Level& simulated) {
  fmt::print("\nmessages between two workers of {}\n{:>10} {:>12} {:>12} {:>8} {:>12} {:>8}\n", level, "bytes", "measured",
             "simulated", "ratio", "both ways", "ratio");
  for (std::size_t i = 0; i < measured.points.size(); ++i) {
    const auto& real = measured.points[i];
    const auto& virt = simulated.points[i];
    fmt::print("{:>10} {:>12} {:>12} {:>8.3f} {:>12} {:>8.3f}\n", real.bytes, time(real.one_way_s), time(virt.one_way_s),
               virt.one_way_s / real.one_way_s, time(real.exchange_s), virt.exchange_s / real.exchange_s);
  }
}

/// Measured times next to those of the simulator for the same messages on the written platform.
void print_comparison(const calibration::Calibration& measured, const calibration::Calibration& simulated,
                      const std::string& collective) {
  if (measured.peer) print_points("one node", *measured.peer, *simulated.peer);
  if (measured.leaf) print_points("two nodes", *measured.leaf, *simulated.leaf);
  if (measured.allreduce_floats.empty()) return;
  fmt::print("\nallreduce ({})\n{:>10} {:>12} {:>12} {:>8}\n", collective, "bytes", "measured", "simulated", "ratio");
  for (std::size_t i = 0; i < measured.allreduce_floats.size(); ++i)
    fmt::print("{:>10} {:>12} {:>12} {:>8.3f}\n", measured.allreduce_floats[i] * sizeof(float),
               time(measured.allreduce_s[i]), time(simulated.allreduce_s[i]),
               simulated.allreduce_s[i] / measured.allreduce_s[i]);
}

std::size_t largest_message(const std::string& text) {
  return static_cast<std::size_t>(cli::parse_size("--largest-message", text, 1e3, 4e9));
}

calibration::CalibrationOptions calibration_options(const CalibrateArguments& arguments) {
  calibration::CalibrationOptions options;
  options.largest_message = largest_message(arguments.largest_message);
  options.kernels = calibration::KernelGrid::of(*backend::make_device(arguments.device));
  options.kernels.passes = options.message_passes = arguments.passes;
  return options;
}

/// Measures on all workers; worker 0 writes the file and prints the comparison.
class CalibrationJob : public worlds::Job {
 public:
  explicit CalibrationJob(const CalibrateArguments& arguments) : arguments_(arguments) {}

  void prepare(const worlds::Process& process) override {
    options_ = calibration_options(arguments_);
    if (process.leads()) file_.emplace(arguments_);
  }

  void work(comm::Worker& worker, const worlds::AddedTime&) override {
    const auto say = [&](const std::string& text) {
      if (!arguments_.quiet) fmt::print(stderr, "{}\n", text);
    };
    const calibration::Calibration measured = calibration::calibrate(worker, options_, say);
    if (!file_) return;
    file_->write(calibration::platform_text(measured.platform, remarks(worker, arguments_.device)));
    print_comparison(measured, calibration::simulate_measurement(measured, sim::read_platform(arguments_.out), options_),
                     options_.collective);
    fmt::print("\nplatform file {}\n", core::printable(arguments_.out));
  }

 private:
  const CalibrateArguments& arguments_;
  calibration::CalibrationOptions options_;
  std::optional<PlatformFile> file_;
};

constexpr const char* description =
    "Measure this machine and write a platform file.\n"
    "A single process times the kernels of the device. Under mpiexec, all ranks time them at once, and then messages and "
    "allreduces between them; the same messages are sent in the simulator, and both times are printed. Start as many ranks "
    "per node as will train there. On an otherwise idle machine this takes about a minute.";

int run(CalibrateArguments& arguments, const CLI::App& parser) {
  if (arguments.device == "meta")
    throw core::ConfigError("the device 'meta' computes nothing to measure: choose cpu or reference");
  CalibrationJob job(arguments);
  return worlds::make_real_world(worlds::facts_of(parser.get_name(), arguments), arguments.device)->run(job);
}

}  // namespace

cli::Command calibrate_command() {
  return cli::command_of<CalibrateArguments>(
      {.name = "calibrate",
       .description = description,
       .examples = "paragrad calibrate --passes 1 --out roughly-this-machine.toml\n"
                   "mpiexec -n 2 paragrad calibrate --passes 1 --largest-message 1MB --out two-ranks.toml"},
      [](CalibrateArguments& arguments, const CLI::App& parser) { return run(arguments, parser); });
}

}  // namespace paragrad::app
