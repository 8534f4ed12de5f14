#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/catalogue_options.hpp"
#include "app/collective_trial.hpp"
#include "app/command.hpp"
#include "app/environment.hpp"
#include "app/measurement_folder.hpp"
#include "app/number_options.hpp"
#include "app/option_use.hpp"
#include "app/shared_options.hpp"
#include "app/world.hpp"
#include "comm/allreduce.hpp"
#include "comm/collectives/cost.hpp"
#include "comm/mpi/mpi_session.hpp"
#include "comm/operations.hpp"
#include "comm/wrappers/addition_counter.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/json.hpp"
#include "core/memory.hpp"
#include "core/units.hpp"
#include "sim/network/surroundings.hpp"
#include "sim/platform.hpp"
#include "sim/simulation.hpp"

namespace paragrad::app {
namespace {

struct CollectiveArguments {
  std::string operation = "allreduce";
  std::string collective = "ring";
  std::vector<std::string> bytes{"100MB"};
  std::vector<int> workers;
  std::string platform;
  std::string network = "fifo";
  bool oversubscribe = false;
  int workers_per_node = 0;
  int repeat = 0;
  std::string device;
  std::string out;
  bool overwrite = false;

  std::vector<std::size_t> floats() const;
  comm::Operation parsed_operation() const { return comm::parse_operation(operation); }
};

/// One worker's part of a measurement; only in the simulator do the workers share a clock.
struct Share {
  std::vector<double> begin_s, end_s;  // of each repetition
  comm::Traffic traffic;               // of one repetition
  std::uint64_t added_bytes = 0;
  std::string explanation;
};

/// One line of the table.
struct Measurement {
  Measurement(comm::Operation what, int n, std::size_t length) : operation(what), workers(n), bytes(length) {}

  comm::Operation operation;
  int workers;
  std::size_t bytes;
  std::vector<double> times_s;         // of each repetition, until the last worker has finished
  std::uint64_t messages = 0;          // sent by all workers
  std::uint64_t busiest_messages = 0;  // sent by the worker that sends most of them
  std::uint64_t busiest_bytes = 0;
  std::uint64_t busiest_additions = 0;  // bytes added by the worker that adds most
  std::optional<double> closed_form_s;
  std::string explanation;
  std::string difference;  // why the closed form is far off, if it is

  /// Within a quarter of the closed form, or without one.
  bool is_near_closed_form() const {
    return !closed_form_s || std::abs(least_s() - *closed_form_s) <= 0.25 * *closed_form_s;
  }
  double least_s() const { return *std::min_element(times_s.begin(), times_s.end()); }
  double median_s() const {
    std::vector<double> sorted = times_s;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
  /// Minimum bandwidth that every worker's link must provide (the "bus bandwidth" of NCCL's tests).
  double bus_bytes_per_s() const {
    const double share = static_cast<double>(workers - 1) / workers;
    const double least_share = operation == comm::Operation::allreduce                  ? 2. * share
                               : operation == comm::Operation::broadcast && workers > 1 ? 1
                                                                                        : share;
    return least_s() > 0 ? least_share * static_cast<double>(bytes) / least_s() : 0;
  }
};

std::size_t floats_of(const std::string& text) {
  const double bytes = parse_size("--bytes", text, 0, 1e15);
  const auto floats = static_cast<std::size_t>(bytes / sizeof(float));
  if (static_cast<double>(floats) * sizeof(float) != bytes)
    throw core::ConfigError(core::format("--bytes: '{}' is not a whole number of float32 values (4 bytes each)", text));
  return floats;
}

std::vector<std::size_t> CollectiveArguments::floats() const {
  std::vector<std::size_t> all;
  for (const std::string& text : bytes) all.push_back(floats_of(text));
  return all;
}

Share take_part(comm::Communicator& plain, const CollectiveArguments& arguments, std::size_t floats, int warm_ups) {
  comm::AdditionCounter comm(plain);
  CollectiveTrial trial(arguments.parsed_operation(), arguments.collective, comm, floats);
  Share share;
  if (comm.rank() == 0) share.explanation = trial.explanation();
  for (int i = -warm_ups; i < arguments.repeat; ++i) {
    if (warm_ups + arguments.repeat > 1) comm::barrier(plain);
    const comm::Traffic before = comm.traffic();
    const std::uint64_t added_bytes = comm.added_bytes();
    const double begin_s = comm.now_s();
    trial.run(comm);
    if (i < 0) continue;  // first use allocates pages and connections
    share.begin_s.push_back(begin_s);
    share.end_s.push_back(comm.now_s());
    share.traffic = comm.traffic();
    share.traffic -= before;
    share.added_bytes = comm.added_bytes() - added_bytes;
  }
  if (comm.device().computes()) trial.check(comm);
  return share;
}

void count(Measurement& measurement, std::uint64_t messages, std::uint64_t bytes, std::uint64_t added_bytes) {
  measurement.messages += messages;
  measurement.busiest_messages = std::max(measurement.busiest_messages, messages);
  measurement.busiest_bytes = std::max(measurement.busiest_bytes, bytes);
  measurement.busiest_additions = std::max(measurement.busiest_additions, added_bytes);
}

/// Time of the algorithm's closed form on this platform; nothing if it has none, or none for where the workers are.
std::optional<double> closed_form_s(const CollectiveArguments& arguments, const sim::Platform& platform, int workers,
                                    std::size_t bytes) {
  const int workers_per_node =
      arguments.workers_per_node > 0 ? arguments.workers_per_node : platform.workers_per_node(workers);
  if (workers_per_node == 0 || !comm::has_closed_form(arguments.collective)) return std::nullopt;
  return comm::cost_of(arguments.parsed_operation(), arguments.collective, workers, static_cast<double>(bytes),
                       sim::surroundings_of(platform, workers_per_node))
      .time_s;
}

/// The platform with devices that add without taking time.
sim::Platform with_free_additions(sim::Platform platform) {
  constexpr double unlimited = 1e30;
  platform.device = {};
  platform.device.flops_per_s = platform.device.bytes_per_s = unlimited;
  platform.host.reduces = false;
  return platform;
}

/// Why the simulated time is not that of the closed form, as a sentence. messages_s: simulated without additions.
std::string why_not(const Measurement& m, double messages_s) {
  const auto time = [](double seconds) { return core::format_quantity(seconds, core::Unit::time); };
  const double additions_s = m.least_s() - messages_s, delay_s = messages_s - *m.closed_form_s;
  std::vector<std::string> causes;
  if (additions_s > 0.05 * *m.closed_form_s)
    causes.push_back(core::format("the additions, a kernel for each segment of 256 kB ({})", time(additions_s)));
  if (delay_s > 0.05 * *m.closed_form_s)
    causes.push_back(core::format("latencies of segments and links that several messages share ({})", time(delay_s)));
  if (delay_s < -0.05 * *m.closed_form_s)
    causes.push_back(core::format("that segments are passed on while others arrive (-{})", time(-delay_s)));
  return core::format("the closed form leaves out {}", core::join(causes, ", and "));
}

/// In the simulator: from the last worker's start to the last worker's end.
Measurement emulate_once(const CollectiveArguments& arguments, const sim::Platform& platform, int workers,
                         std::size_t floats) {
  if (const auto device = backend::make_device(arguments.device); device->computes() && device->is_host())
    core::require_memory(static_cast<double>(floats) * sizeof(float) * workers *
                             (arguments.parsed_operation() == comm::Operation::all_to_all ? 2 : 1),
                         core::format("an array of {} bytes at each of {} workers", floats * sizeof(float), workers));
  std::vector<Share> shares(static_cast<std::size_t>(workers));
  const sim::SimulationOptions options{.device = arguments.device,
                                       .network = arguments.network,
                                       .oversubscribe = arguments.oversubscribe,
                                       .workers_per_node = arguments.workers_per_node};
  sim::run(platform, workers, options, [&](comm::Worker& worker) {
    shares[static_cast<std::size_t>(worker.rank())] = take_part(worker.comm(), arguments, floats, 0);
  });
  Measurement result{arguments.parsed_operation(), workers, floats * sizeof(float)};
  result.explanation = shares[0].explanation;
  for (std::size_t i = 0; i < shares[0].end_s.size(); ++i) {
    double begin_s = 0, end_s = 0;
    for (const Share& share : shares) {
      begin_s = std::max(begin_s, share.begin_s[i]);
      end_s = std::max(end_s, share.end_s[i]);
    }
    result.times_s.push_back(end_s - begin_s);
  }
  for (const Share& share : shares) count(result, share.traffic.messages, share.traffic.sent_bytes, share.added_bytes);
  return result;
}

Measurement emulate(const CollectiveArguments& arguments, const sim::Platform& platform, int workers, std::size_t floats) {
  Measurement result = emulate_once(arguments, platform, workers, floats);
  result.closed_form_s = closed_form_s(arguments, platform, workers, result.bytes);
  if (!result.is_near_closed_form())
    result.difference = why_not(result, emulate_once(arguments, with_free_additions(platform), workers, floats).least_s());
  return result;
}

/// Under MPI: the longest time spent by any worker after a common barrier.
Measurement measure(comm::Communicator& comm, const CollectiveArguments& arguments, std::size_t floats) {
  const Share mine = take_part(comm, arguments, floats, 2);
  const auto repeat = mine.end_s.size(), width = repeat + 3;
  std::vector<double> all(static_cast<std::size_t>(comm.size()) * width);  // [workers][times, messages, bytes, additions]
  double* row = &all[static_cast<std::size_t>(comm.rank()) * width];
  for (std::size_t i = 0; i < repeat; ++i) row[i] = mine.end_s[i] - mine.begin_s[i];
  row[repeat] = static_cast<double>(mine.traffic.messages);
  row[repeat + 1] = static_cast<double>(mine.traffic.sent_bytes);
  row[repeat + 2] = static_cast<double>(mine.added_bytes);
  comm::sum_in_rank_order(comm, all);
  Measurement result{arguments.parsed_operation(), comm.size(), floats * sizeof(float)};
  result.times_s.resize(repeat);
  result.explanation = mine.explanation;
  for (const double* r = all.data(); r != all.data() + all.size(); r += width) {
    for (std::size_t i = 0; i < repeat; ++i) result.times_s[i] = std::max(result.times_s[i], r[i]);
    const auto counted = [&](std::size_t i) { return static_cast<std::uint64_t>(r[repeat + i]); };
    count(result, counted(0), counted(1), counted(2));
  }
  return result;
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
  core::Json manifest = environment(arguments.device);
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

  void add(const Measurement& m) {
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
    std::fflush(stdout);
    folder_.add(record_of(m));
  }

  void finish() { folder_.finish({{"peak_memory_bytes", peak_memory_bytes()}}); }

 private:
  std::string collective_;
  MeasurementFolder folder_;
};

int run_emulated(CollectiveArguments& arguments, const std::string& config) {
  if (arguments.platform.empty() || arguments.workers.empty())
    throw core::ConfigError(
        "paragrad collective needs --workers and --platform to emulate workers, or mpiexec to start real ones");
  const auto floats = arguments.floats();
  const sim::Platform platform = sim::read_platform(arguments.platform);
  Output output(arguments, config, "simulation");
  for (const int workers : arguments.workers)
    for (const std::size_t count : floats) output.add(emulate(arguments, platform, workers, count));
  output.finish();
  return success;
}

/// Measures among ranks.
class CollectiveJob : public Job {
 public:
  CollectiveJob(const CollectiveArguments& arguments, const std::string& config) : arguments_(arguments), config_(config) {}

  void prepare(const Process& process) override {
    if (!arguments_.platform.empty() || !arguments_.workers.empty())
      throw core::ConfigError("under mpiexec the ranks are the workers: leave out --workers and --platform");
    floats_ = arguments_.floats();
    if (process.leads()) output_.emplace(arguments_, config_, "mpi");
  }

  void work(comm::Worker& worker, const AddedTime&) override {
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

void add_options(CLI::App& parser, CollectiveArguments& arguments) {
  accept_config_file(parser);
  parser.add_option("--operation", arguments.operation, "what the workers do together")
      ->check(known_names(comm::operation_names()));
  add_choice(parser, comm::collective_catalogue(), arguments.collective,
             "algorithm; paragrad help NAME shows the operations it serves" + other_defaults());
  add_words(parser, "--bytes", arguments.bytes,
            "sizes of each worker's whole array (all_to_all: the one it sends), separated by commas, such as 1kB,1MB,100MB");
  add_number(parser, "--workers-per-node", arguments.workers_per_node, {.least = 0, .most = 1000000},
             "collectives hierarchical and auto: workers per node (0: as detected)");
  add_number(parser, "--repeat", arguments.repeat, {.least = 0, .most = 1000000},
             "repetitions of each measurement (0: 1 when emulated, 20 under mpiexec)");
  add_device_option(parser, arguments.device)
      ->description("device of the workers (default: cpu under mpiexec; meta, which has sizes only, when emulated)");
  add_numbers(parser, "--workers", arguments.workers, {.least = 1, .most = 10000000},
              "numbers of emulated workers, separated by commas, such as 2,8,64")
      ->group("Simulation");
  parser
      .add_option("--platform", arguments.platform,
                  "simulated cluster: a platform file, or a built-in platform such as k40m-fdr")
      ->group("Simulation");
  add_network_option(parser, arguments.network)->group("Simulation");
  parser
      .add_flag("--oversubscribe", arguments.oversubscribe,
                "allow more workers than the platform has devices, and share the devices")
      ->group("Simulation");
  parser.add_option("--out", arguments.out, "run folder for configuration, manifest and metrics")->group("Run");
  parser.add_flag("--overwrite", arguments.overwrite, "replace an existing run in the --out folder")
      ->configurable(false)
      ->group("Run");
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
  OptionUse use(parser);
  use.choose({choice_from(comm::collective_catalogue(), arguments.collective)});
  use.require(!real, {"network", "oversubscribe"},
              "applies to emulated workers only, and under mpiexec the ranks are the workers: leave it out");
  use.require(!arguments.out.empty(), {"overwrite"}, "replaces the run in the --out folder: give --out too");
  use.check();
  const std::string config = use.config();
  if (!real) return run_emulated(arguments, config);
  CollectiveJob job(arguments, config);
  return make_real_world(parser, arguments.device, {.per_node = arguments.workers_per_node})->run(job);
}

}  // namespace

Command collective_command() {
  auto arguments = std::make_shared<CollectiveArguments>();
  auto parser =
      make_parser("collective", "Time a collective operation among emulated workers or, under mpiexec, among real ones.");
  add_options(*parser, *arguments);
  set_examples(*parser,
               "paragrad collective --workers 8,64 --bytes 1MB,100MB --platform sim/platforms/k40m-fdr.toml\n"
               "paragrad collective --collective hierarchical:ring+tree --workers 16 --platform sim/platforms/k80-edr.toml\n"
               "paragrad collective --operation all_to_all --collective bruck --workers 8 --bytes 1kB --platform "
               "sim/platforms/k80-edr.toml\n"
               "mpiexec -n 2 paragrad collective --collective butterfly --bytes 1kB,1MB");
  return {parser, [arguments, parser] { return run(*arguments, *parser); }};
}

}  // namespace paragrad::app
