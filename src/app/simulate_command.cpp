#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <thread>

#include "app/device_rate.hpp"
#include "app/number_options.hpp"
#include "app/option_use.hpp"
#include "app/run_output.hpp"
#include "app/server_arguments.hpp"
#include "app/shared_options.hpp"
#include "app/training_report.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/sha256.hpp"
#include "sim/simulation.hpp"
#include "train/memory_need.hpp"

namespace paragrad::app {
namespace {

using Clock = std::chrono::steady_clock;

struct SimulationArguments {
  TrainingArguments training;
  int workers = 1;
  std::string platform;
  std::string network = "fifo";
  std::string io = "none";
  std::uint64_t sample_bytes = 0;
  std::array<std::size_t, 3> imaginary_samples{};
  bool oversubscribe = false;
  int host_threads = 0;
  double device_rate = 0;
  int nodes = 0;
  int devices_per_node = 0;
  std::string fast_collectives = "auto";
};

void add_io_options(CLI::App& parser, SimulationArguments& arguments) {
  parser
      .add_option(
          "--io", arguments.io,
          "how workers read splits from the platform's file system: none (no reading time), blocking (on demand), or "
          "prefetch (while the previous split is processed)")
      ->check(known_names({"none", "blocking", "prefetch"}))
      ->group("Simulation");
  add_number(parser, "--sample-bytes", arguments.sample_bytes, {.least = 0, .most = 1'000'000'000'000},
             "bytes read per sample (0: as stored, or 4 per input without a data file)")
      ->group("Simulation");
}

void add_timing_options(CLI::App& parser, SimulationArguments& arguments) {
  constexpr const char* group = "Timing runs (--device meta)";
  const std::array<std::string, 3> names{"--train-samples", "--valid-samples", "--test-samples"};
  const std::array<std::string, 3> sets{"training", "validation", "test"};
  for (std::size_t i = 0; i < names.size(); ++i)
    add_number(parser, names[i], arguments.imaginary_samples[i], core::any_count,
               core::format("number of {} samples, for timing without --data", sets[i]))
        ->group(group);
  add_number(parser, "--max-steps", arguments.training.options.max_steps, core::any_count,
             "number of minibatches to time in each block (0: all)")
      ->group(group);
}

void add_simulation_options(CLI::App& parser, SimulationArguments& arguments) {
  add_training_options(parser, arguments.training);
  add_io_options(parser, arguments);
  add_timing_options(parser, arguments);
  add_number(parser, "--workers", arguments.workers, {.least = 1, .most = 1000000}, "number of emulated workers")
      ->group("Simulation");
  parser
      .add_option("--platform", arguments.platform,
                  "platform file of the simulated cluster, such as sim/platforms/k40m-fdr.toml")
      ->required()
      ->group("Simulation");
  add_number(parser, "--nodes", arguments.nodes, {.least = 0, .most = 10000000},
             "number of nodes, at least as many as in the platform file (0: as in the file)")
      ->group("Simulation");
  add_number(parser, "--devices-per-node", arguments.devices_per_node, {.least = 0, .most = 1000000},
             "devices to use on each node; other workers go to further nodes (0: all)")
      ->group("Simulation");
  add_network_option(parser, arguments.network)->group("Simulation");
  parser
      .add_flag("--oversubscribe", arguments.oversubscribe,
                "allow more workers than the platform has devices, and share the devices")
      ->group("Simulation");
  add_number(parser, "--device-rate", arguments.device_rate, {.least = 0, .most = 1e12},
             "known training rate of a single device in samples per second (0: predict it from the platform's roofline)")
      ->group("Simulation");
  parser
      .add_option(
          "--fast-collectives", arguments.fast_collectives,
          "auto: with --device meta, time an allreduce as a whole where that gives the same times; off: always simulate "
          "it message by message")
      ->check(CLI::IsMember({"auto", "off"}))
      ->group("Simulation");
  add_number(parser, "--host-threads", arguments.host_threads, {.least = 0, .most = 2000000000},
             "threads of this machine to use; affects nothing but speed (0: one per core)")
      ->group("Simulation");
}

/// A run either computes, on real data and to the end, or is only timed: then data may be missing and a part of it suffices.
void check_mode(SimulationArguments& arguments, bool computes) {
  train::TrainingOptions& options = arguments.training.options;
  const bool imaginary = arguments.imaginary_samples != std::array<std::size_t, 3>{};
  if (computes && imaginary)
    throw core::ConfigError(
        "--train-samples, --valid-samples and --test-samples stand for data in timing runs only (--device meta): to "
        "compute, give a data file with --data");
  if (computes && options.data.empty())
    throw core::ConfigError("--data is required; to time a training without data, give --device meta and --train-samples");
  if (computes) require_learning_rate(options);
  if (computes && options.max_steps > 0)
    throw core::ConfigError(
        "--max-steps skips a part of each block, which only timing runs can do (--device meta): leave it out");
  if (imaginary && !options.data.empty()) throw core::ConfigError("give either --data or --train-samples, not both");
  if (!computes && options.minibatch_search.enabled)
    throw core::ConfigError(
        "--auto-minibatch needs the loss, which a timing run does not compute: give a size with --minibatch");
  if (!computes && options.target_error >= 0)
    throw core::ConfigError("--target-error needs the validation error, which a timing run does not compute: leave it out");
  if (!computes && options.schedule.name == "newbob")
    throw core::ConfigError(
        "the schedule 'newbob' needs the validation loss, which a timing run does not compute: choose another");
}

/// Faults refer to nodes and links of the file, so nodes can be added but not removed.
void extend(sim::Platform& platform, int nodes) {
  if (nodes < platform.nodes)
    throw core::ConfigError(core::format("--nodes {}: '{}' already has {} nodes, and the number can only grow", nodes,
                                         platform.file, platform.nodes));
  if (nodes > 1 && platform.leaf.bytes_per_s == 0)
    throw core::ConfigError(
        core::format("--nodes {}: '{}' needs a section [leaf] for more than one node", nodes, platform.file));
  platform.nodes = nodes;
}

/// Faults refer to devices, and devices are divided among sockets and NICs.
void leave_devices_out(sim::Platform& platform, int devices_per_node) {
  const int least = std::max(platform.sockets_per_node, platform.leaf.nics_per_node);
  if (devices_per_node > platform.devices_per_node || devices_per_node < least)
    throw core::ConfigError(
        core::format("--devices-per-node {}: the nodes of '{}' have {} devices, of which at least {} must be used",
                     devices_per_node, platform.file, platform.devices_per_node, least));
  if (!platform.faults.empty())
    throw core::ConfigError(
        core::format("--devices-per-node {}: '{}' has faults, which refer to a cluster that uses all its devices; leave the "
                     "option out",
                     devices_per_node, platform.file));
  platform.devices_per_node = devices_per_node;
}

/// Number of threads that compute. More than the machine has cores for would only cost memory.
int host_threads(int wanted) {
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const int most = std::max(256, 4 * cores);
  if (wanted > most)
    print_error(
        core::format("--host-threads {} is more than the {} cores of this machine can use: using {}", wanted, cores, most));
  return wanted == 0 ? cores : std::min(wanted, most);
}

/// Prints what was timed if a block does not hold --max-steps whole minibatches.
void print_shortened_steps(const train::TrainingOptions& options, const train::TrainingData& source) {
  if (options.max_steps == 0 || options.minibatch == 0) return;
  const data::Partition& partition = *source.partition;
  const bool shared = train::shares_minibatches(options);
  const std::size_t sharing = shared ? 1 : partition.workers(), size = options.minibatch;
  const std::size_t samples = partition.samples() / (partition.blocks() * sharing);
  if (samples / size >= options.max_steps) return;
  const std::size_t steps = std::min(options.max_steps, (samples + size - 1) / size);
  const std::size_t last = samples - (steps - 1) * size, blocks = partition.samples() / sharing / size / options.max_steps;
  fmt::print("timed {} of {} samples in each block instead of {} of {}: a {} holds no more; {}\n",
             steps == 1 ? "1 minibatch" : core::format("{} minibatches, the last", steps), last, options.max_steps, size,
             shared ? "block" : "worker's split of a block",
             blocks > 0 ? core::format("--blocks {} gives full minibatches", blocks)
                        : "give more samples, or a smaller --minibatch");
}

int run(SimulationArguments& arguments, const CLI::App& parser) {
  TrainingArguments& training = arguments.training;
  const auto start = Clock::now();
  sim::Platform platform = sim::read_platform(arguments.platform);
  if (arguments.devices_per_node > 0) leave_devices_out(platform, arguments.devices_per_node);
  if (arguments.nodes > 0) extend(platform, arguments.nodes);
  const bool computes = backend::make_device(training.device)->computes();
  if (!computes && (training.resume || training.checkpoint_every > 0))
    throw core::ConfigError("a timing run has no state to save: --checkpoint-every and --resume are for runs that compute");
  check_mode(arguments, computes);
  OptionUse use = use_of_training(parser, training, computes);
  use.require(arguments.io != "none", {"sample-bytes"}, "needs --io blocking or --io prefetch", "io");
  settle(use, training);
  const std::string config = use.config();
  if (is_complete(training, config)) return say_complete(training);
  if (!computes) training.options.schedule.initial_rate = 1;  // unused
  if (arguments.io != "none" && !platform.storage)
    throw core::ConfigError(core::format("--io {} needs a file system: add a section [storage] to the platform file '{}'",
                                         arguments.io, arguments.platform));
  const train::TrainingData source =
      computes ? train::open_training_data(training.options, arguments.workers)
               : train::imagine_training_data(training.options, arguments.workers, arguments.imaginary_samples);

  train::require_memory(*backend::make_device(training.device), training.options, source, arguments.workers);
  training.options = with_servers(training, source, arguments.workers);
  const int ranks = arguments.workers + servers_of(training.options);

  const DeviceRate rate = device_rate(arguments.device_rate, platform, training.options, arguments.workers);

  core::Json record = manifest(training, source, "simulation", arguments.workers);
  record["platform"] = {{"name", platform.name}, {"file_sha256", core::sha256_of_file(arguments.platform)}};
  record["run"]["device_rate"] = rate.samples_per_s;
  record["platform"]["nodes"] = platform.nodes;
  const train::RunIdentity identity = identity_of(training, config, source);
  OpenedRun opened = open_run(training, config, identity, metrics::EventFile::Clock::simulated);
  auto& folder = opened.folder;
  if (folder) folder->write("manifest.json", core::text_of(record, 2) + "\n");
  std::optional<metrics::Progress> progress(std::in_place, samples_to_train(training.options, source), training.quiet);
  training.options = options_to_train(training.options, opened, &*progress);

  if (!computes && training.instruments.timeline && arguments.fast_collectives == "auto")
    progress->say(
        "--timeline shows every message: collectives are simulated message by message, as with --fast-collectives off");
  const int threads = host_threads(arguments.host_threads);
  Instruments instruments(training.instruments, ranks, ranks, [&](const std::string& line) { progress->say(line); });
  const sim::SimulationOptions options{
      .host_threads = threads,
      .device = training.device,
      .network = arguments.network,
      .io = arguments.io,
      .row_bytes = arguments.sample_bytes > 0 ? arguments.sample_bytes : source.info.bytes_per_row(),
      .oversubscribe = arguments.oversubscribe,
      .compute_scale = rate.compute_scale,
      .workers_per_node = training.workers_per_node,
      .on_transfer = instruments.on_transfer(),
      .shortcuts = arguments.fast_collectives == "auto" && !training.instruments.timeline};
  const train::Output output = output_of(training, opened, identity, &*progress);
  train::Result result;
  std::vector<LostWorker> lost;
  const sim::Report report = sim::run(platform, ranks, options, [&](sim::EmulatedWorker& emulated) {
    const train::WorkerInput input{source, [&](auto samples) { return emulated.read_from_storage(std::move(samples)); }};
    instruments.watch(emulated, [&](comm::Worker& watched) {
      auto left_out = run_role(watched, arguments.workers, training.options, output, [&](comm::Worker& worker) {
        train::Result mine = train::train(worker, training.options, input, output);
        if (worker.rank() == 0) result = std::move(mine);
      });
      if (watched.rank() == 0) lost = std::move(left_out);
    });
  });
  progress.reset();
  if (folder) {
    folder->record(end_record(result));
    instruments.write(*folder, "simulated");
    record["simulation"] = {{"makespan_s", report.makespan_s},
                            {"messages", report.messages},
                            {"bytes", report.bytes},
                            {"fast_collectives", report.shortcuts}};
    finish_manifest(record, result, std::chrono::duration<double>(Clock::now() - start).count());
    folder->write("manifest.json", core::text_of(record, 2) + "\n");
    remove_state(training);
  }
  print_result(training, result, "simulated");
  if (!computes) print_shortened_steps(training.options, source);
  if (static_cast<int>(report.host_threads) < threads)
    print_error(core::format("only {} of {} host threads could be started; the run was slower, but its results are the same",
                             report.host_threads, threads));
  if (rate.given())
    fmt::print("a device alone trains {:.4g} samples/s: given, not predicted (the platform's roofline: {:.4g})\n",
               rate.samples_per_s, rate.roofline_samples_per_s);
  print_lost(lost);
  print_cost_of_states(training);
  return success;
}

}  // namespace

Command simulate_command() {
  auto arguments = std::make_shared<SimulationArguments>();
  auto parser = make_parser("simulate", "Train with N emulated workers in this process, on a simulated clock.");
  add_simulation_options(*parser, *arguments);
  show_first(*parser, common_training_options);
  show_first(*parser, {"workers", "platform"});
  set_examples(*parser,
               "paragrad simulate --workers 8 --platform sim/platforms/k40m-fdr.toml --strategy bmuf --blocks 5 \\\n"
               "    --data frames.h5 --model 40-64-120:relu --learning-rate 0.05 --epochs 2 --out runs/eight\n"
               "paragrad simulate --workers 4 --platform sim/platforms/ethernet-10g.toml --strategy async_sgd \\\n"
               "    --optimiser sgd --data frames.h5 --model 40-64-120:relu --learning-rate 0.05 --epochs 1\n"
               "paragrad simulate --device meta --workers 64 --platform sim/platforms/p100-edr-nvlink.toml \\\n"
               "    --model zoo:resnet50 --train-samples 1281167 --minibatch 4096 --strategy data_parallel \\\n"
               "    --epochs 1 --max-blocks 1 --max-steps 2");
  return {parser, [arguments, parser] {
            resolve(arguments->training);
            return run(*arguments, *parser);
          }};
}

}  // namespace paragrad::app
