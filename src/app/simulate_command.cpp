#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "app/training.hpp"
#include "core/format.hpp"
#include "core/sha256.hpp"
#include "sim/simulation.hpp"

namespace paragrad::app {
namespace {

using Clock = std::chrono::steady_clock;

struct SimulationArguments {
  TrainingArguments training;
  int workers = 1;
  std::string platform;
  std::string network = "fifo";
  int host_threads = 0;
};

void add_simulation_options(CLI::App& parser, SimulationArguments& arguments) {
  add_training_options(parser, arguments.training);
  parser.add_option("--workers", arguments.workers, "emulated workers")->check(CLI::Range(1, 1000000))->group("Simulation");
  parser.add_option("--platform", arguments.platform, "platform file, such as sim/platforms/k40m-fdr.toml")
      ->required()
      ->group("Simulation");
  parser.add_option("--network", arguments.network, "network model: fifo")->group("Simulation");
  parser.add_option("--host-threads", arguments.host_threads, "of this machine; 0: one per core. Changes nothing but speed")
      ->group("Simulation");
}

int run(SimulationArguments& arguments, const std::string& config) {
  TrainingArguments& training = arguments.training;
  const auto start = Clock::now();
  const sim::Platform platform = sim::read_platform(arguments.platform);
  const train::Source source = train::open_source(training.options, arguments.workers);

  core::Json record = manifest(training, source, "simulation", arguments.workers);
  record["platform"] = {{"name", platform.name}, {"file_sha256", core::sha256_of_file(arguments.platform)}};
  std::optional<metrics::RunFolder> folder;
  if (!training.out.empty()) {
    folder.emplace(training.out, training.overwrite);
    folder->write("config.toml", config);
    folder->write("manifest.json", record.dump(2) + "\n");
  }
  const auto samples = source.partition->samples() * static_cast<std::uint64_t>(training.options.sweeps);
  std::optional<metrics::Progress> progress(std::in_place, samples, training.quiet);

  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const sim::Options options{arguments.host_threads == 0 ? cores : arguments.host_threads, training.device,
                             arguments.network};
  train::Result result;
  const sim::Report report = sim::run(platform, arguments.workers, options, [&](comm::Worker& worker) {
    train::Result mine = train::train(worker, training.options, source, {folder ? &*folder : nullptr, &*progress});
    if (worker.rank() == 0) result = std::move(mine);
  });
  progress.reset();
  if (folder) {
    folder->record(end_record(result));
    record["simulation"] = {{"makespan_s", report.makespan_s}, {"messages", report.messages}, {"bytes", report.bytes}};
    finish_manifest(record, result, std::chrono::duration<double>(Clock::now() - start).count());
    folder->write("manifest.json", record.dump(2) + "\n");
  }
  print_result(result, "virtual", training.out);
  return success;
}

}  // namespace

int simulate_command(std::span<char*> argv) {
  SimulationArguments arguments;
  const auto parser = make_parser("paragrad simulate", "Trains with N emulated workers in this process.");
  add_simulation_options(*parser, arguments);
  if (const auto code = parse(*parser, argv)) return *code;
  resolve(arguments.training);
  return run(arguments, parser->config_to_str(true));
}

}  // namespace paragrad::app
