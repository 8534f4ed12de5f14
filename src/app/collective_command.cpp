#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "backend/backend_info.hpp"
#include "cli/described_options.hpp"
#include "cli/option_use.hpp"
#include "cli/option_values.hpp"
#include "comm/collectives/hierarchy.hpp"
#include "comm/mpi/mpi_session.hpp"
#include "comm/operations.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/json.hpp"
#include "core/units.hpp"
#include "predict/collective_measurement.hpp"
#include "predict/measured_rows.hpp"
#include "runs/environment.hpp"
#include "runs/measurement_folder.hpp"
#include "sim/fitting/interval.hpp"
#include "sim/platform.hpp"
#include "sim/simulation.hpp"
#include "worlds/shared_options.hpp"
#include "worlds/world.hpp"

namespace paragrad::app {
namespace {

using predict::Measurement;

struct CollectiveArguments : predict::CollectiveSettings {
  std::vector<std::string> bytes{"100MB"};
  std::vector<int> workers;
  std::string platform;
  std::string out;
  bool overwrite = false;

  void describe(core::OptionList& list);
};

std::size_t floats_of(const std::string& text) {
  const double bytes = cli::parse_size("--bytes", text, 0, 1e15);
  const auto floats = static_cast<std::size_t>(bytes / sizeof(float));
  if (static_cast<double>(floats) * sizeof(float) != bytes)
    throw core::ConfigError(core::format("--bytes: '{}' is not a whole number of float32 values (4 bytes each)", text));
  return floats;
}

std::vector<std::size_t> lengths_of(const CollectiveArguments& arguments) {
  std::vector<std::size_t> all;
  for (const std::string& text : arguments.bytes) all.push_back(floats_of(text));
  return all;
}

core::Json record_of(const Measurement& m) {
  return {{"workers", m.workers},
          {"bytes", m.bytes},
          {"time_s", m.least_s()},
          {"median_s", m.median_s()},
          {"bus_bytes_per_s", m.bus_bytes_per_s()},
          {"messages", m.messages},
          {"busiest_messages", m.busiest_messages},
          {"busiest_bytes", m.busiest_bytes},
          {"busiest_additions", m.busiest_additions},
          {"closed_form_s", m.closed_form_s ? core::Json(*m.closed_form_s) : core::Json(nullptr)},
          {"closed_form_ratio", m.closed_form_s ? core::Json(m.least_s() / *m.closed_form_s) : core::Json(nullptr)},
          {"explanation", m.explanation},
          {"difference", m.difference}};
}

core::Json manifest_of(const CollectiveArguments& arguments, const std::string& world) {
  core::Json manifest = runs::environment(arguments.device);
  manifest["run"] = {{"world", world},
                     {"operation", arguments.operation},
                     {"collective", arguments.collective},
                     {"repeat", arguments.repeat},
                     {"device", arguments.device}};
  if (!arguments.platform.empty())
    manifest["platform"] = {{"file", arguments.platform}, {"file_sha256", sim::read_platform(arguments.platform).sha256}};
  return manifest;
}

/// The table on stdout and the run folder; only on worker 0.
class Output {
 public:
  Output(const CollectiveArguments& arguments, const std::string& config, const std::string& world)
      : collective_(arguments.collective),
        folder_(arguments.out, arguments.overwrite, config, manifest_of(arguments, world)) {}

  /// sure: how sure the time is, on a platform that was fitted.
  void add(const Measurement& m, const std::optional<sim::fitting::Uncertainty>& sure = {}) {
    using core::Unit;
    const auto say = [](double value, Unit unit) { return core::format_quantity(value, unit); };
    const std::size_t width = std::max<std::size_t>(collective_.size(), 20);
    if (folder_.is_empty())
      fmt::print("{:<{}} {:>7} {:>10} {:>10} {:>10} {:>11} {:>12} {:>10}  {}\n", comm::name_of(m.operation), width,
                 "workers", "bytes", "time", "median", "closed form", "bus", "messages", "busiest worker sends");
    fmt::print("{:<{}} {:>7} {:>10} {:>10} {:>10} {:>11} {:>12} {:>10}  {} in {} {}\n", collective_, width, m.workers,
               say(static_cast<double>(m.bytes), Unit::bytes), say(m.least_s(), Unit::time), say(m.median_s(), Unit::time),
               m.closed_form_s ? say(*m.closed_form_s, Unit::time) : "-", say(m.bus_bytes_per_s(), Unit::bandwidth),
               m.messages, say(static_cast<double>(m.busiest_bytes), Unit::bytes), m.busiest_messages,
               m.busiest_messages == 1 ? "message" : "messages");
    if (!m.explanation.empty()) fmt::print("  {}\n", m.explanation);
    if (!m.difference.empty()) fmt::print("  {}\n", m.difference);
    if (sure) fmt::print("  {}\n", sim::fitting::interval_text(m.least_s(), *sure));
    std::fflush(stdout);
    core::Json record = record_of(m);
    if (sure) record["spread"] = sure->spread;
    folder_.add(std::move(record));
  }

  void finish() { folder_.finish({{"peak_memory_bytes", runs::peak_memory_bytes()}}); }

 private:
  std::string collective_;
  runs::MeasurementFolder folder_;
};

std::optional<sim::fitting::Uncertainty> uncertainty_of(const CollectiveArguments& arguments, const sim::Platform& platform,
                                                        int workers, std::size_t floats) {
  if (!platform.fit || workers == 1 || floats == 0) return std::nullopt;
  predict::MeasuredRow row;
  row.collective = arguments;
  row.workers = workers;
  row.floats = floats;
  return sim::fitting::uncertainty_of(platform, predict::row_of_collective(row, platform), 0);
}

int run_emulated(CollectiveArguments& arguments, const std::string& config) {
  if (arguments.platform.empty() || arguments.workers.empty())
    throw core::ConfigError(
        "paragrad collective needs --workers and --platform to emulate workers, or mpiexec to start real ones");
  const auto floats = lengths_of(arguments);
  const sim::Platform platform = sim::read_platform(arguments.platform);
  Output output(arguments, config, "simulation");
  for (const int workers : arguments.workers)
    for (const std::size_t count : floats) {
      const Measurement measurement = emulate(arguments, platform, workers, count);
      output.add(measurement, uncertainty_of(arguments, platform, workers, count));
    }
  output.finish();
  return cli::success;
}

/// Measures among ranks.
class CollectiveJob : public worlds::Job {
 public:
  CollectiveJob(const CollectiveArguments& arguments, const std::string& config) : arguments_(arguments), config_(config) {}

  void prepare(const worlds::Process& process) override {
    if (!arguments_.platform.empty() || !arguments_.workers.empty())
      throw core::ConfigError("under mpiexec the ranks are the workers: leave out --workers and --platform");
    floats_ = lengths_of(arguments_);
    if (process.leads()) output_.emplace(arguments_, config_, "mpi");
  }

  void work(comm::Worker& worker, const worlds::AddedTime&) override {
    for (const std::size_t count : floats_) {
      const Measurement measurement = measure(worker.comm(), arguments_, count);
      if (output_) output_->add(measurement);
    }
  }

  void finish(const core::Json&) override { output_->finish(); }

 private:
  const CollectiveArguments& arguments_;
  std::string config_;
  std::vector<std::size_t> floats_;
  std::optional<Output> output_;
};

/// Defaults of the operations that the allreduce's does not serve.
std::string other_defaults() {
  std::vector<std::string> texts;
  for (const std::string& name : comm::operation_names()) {
    const std::string algorithm = comm::default_algorithm(comm::parse_operation(name));
    if (algorithm != CollectiveArguments{}.collective) texts.push_back(core::format("{}: {}", name, algorithm));
  }
  return core::format(" (default of {})", core::join(texts, ", "));
}

int run(CollectiveArguments& arguments, CLI::App& parser) {
  const bool real = comm::under_mpiexec();
  if (arguments.repeat == 0) arguments.repeat = real ? 20 : 1;
  if (arguments.device.empty()) arguments.device = real ? "cpu" : "meta";
  if (real && arguments.device == "meta")
    throw core::ConfigError("the device 'meta' has no memory to send from: under mpiexec, choose cpu or reference");
  const comm::Operation operation = arguments.parsed_operation();
  if (CLI::Option* const option = parser.get_option("--collective");
      option->count() == 0 && operation != comm::Operation::allreduce)
    option->default_str(arguments.collective = comm::default_algorithm(operation));  // config.toml shows it
  comm::check_algorithm(operation, arguments.collective);
  const std::string config = cli::use_of(parser, arguments).config();
  if (!real) return run_emulated(arguments, config);
  CollectiveJob job(arguments, config);
  return worlds::make_real_world(worlds::facts_of(parser.get_name(), arguments), arguments.device,
                                 {.per_node = arguments.workers_per_node})
      ->run(job);
}

void CollectiveArguments::describe(core::OptionList& list) {
  const bool real = comm::under_mpiexec();
  const char* const only_emulated =
      "applies to emulated workers only, and under mpiexec the ranks are the workers: leave it out";
  list.choice("operation", operation, comm::operation_names(), "what the workers do together");
  list.entry(
      "collective", collective, [] { return comm::collective_catalogue(); },
      "algorithm; paragrad help NAME shows the operations it serves" + other_defaults());
  list.words("bytes", bytes,
             "sizes of each worker's whole array (all_to_all: the one it sends), separated by commas, such as "
             "1kB,1MB,100MB");
  list.number(comm::collectives::option_of_nodes, workers_per_node, {.least = 0, .most = 1000000},
              "collectives hierarchical and auto: workers per node (0: as detected)")
      .off("0");
  list.number("repeat", repeat, {.least = 0, .most = 1000000},
              "repetitions of each measurement (0: 1 when emulated, 20 under mpiexec)");
  list.entry("device", device, backend::device_catalogue,
             "device of the workers (default: cpu under mpiexec; meta, which has sizes only, when emulated)");
  list.group("Simulation");
  list.numbers("workers", workers, {.least = 1, .most = 10000000},
               "numbers of emulated workers, separated by commas, such as 2,8,64");
  worlds::describe_platform(list, platform);
  worlds::describe_network(list, network).when(!real, only_emulated);
  worlds::describe_oversubscribe(list, oversubscribe).when(!real, only_emulated);
  list.group("Run");
  list.text("out", out, "run folder for configuration, manifest and metrics").path();
  worlds::describe_overwrite(list, overwrite, out);
}

}  // namespace

cli::Command collective_command() {
  return cli::command_of<CollectiveArguments>(
      {.name = "collective",
       .description = "Time a collective operation among emulated workers or, under mpiexec, among real ones.",
       .examples =
           "paragrad collective --workers 8,64 --bytes 1MB,100MB --platform sim/platforms/k40m-fdr.toml\n"
           "paragrad collective --collective hierarchical:ring+tree --workers 16 --platform sim/platforms/k80-edr.toml\n"
           "paragrad collective --operation all_to_all --collective bruck --workers 8 --bytes 1kB --platform "
           "sim/platforms/k80-edr.toml\n"
           "mpiexec -n 2 paragrad collective --collective butterfly --bytes 1kB,1MB",
       .reads_config = true},
      [](CollectiveArguments& arguments, CLI::App& parser) { return run(arguments, parser); });
}

}  // namespace paragrad::app
