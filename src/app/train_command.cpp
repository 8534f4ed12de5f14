#include <chrono>
#include <optional>

#include "app/option_use.hpp"
#include "app/rank.hpp"
#include "app/run_output.hpp"
#include "app/server_arguments.hpp"
#include "app/training_report.hpp"
#include "comm/allreduce.hpp"
#include "comm/mpi/mpi_session.hpp"
#include "comm/real_worker.hpp"
#include "comm/solo_communicator.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/printable.hpp"
#include "train/memory_need.hpp"

namespace paragrad::app {
namespace {

using Clock = std::chrono::steady_clock;

/// Everything that can fail because of user errors before the first minibatch.
struct Prepared {
  train::TrainingData source;
  train::TrainingOptions options;
  train::RunIdentity run;
  OpenedRun opened;
  std::optional<metrics::Progress> progress;
  core::Json manifest;
};

Prepared prepare(const TrainingArguments& arguments, const std::string& config, const std::string& world,
                 comm::Worker& worker) {
  if (!worker.device().computes())
    throw core::ConfigError(core::format(
        "the device '{}' counts work but computes nothing: train with cpu or reference, or time it with paragrad simulate",
        arguments.device));
  const int rank = worker.rank(), size = worker.size();
  const int workers = workers_of(arguments.options, size);
  Prepared prepared{train::open_training_data(arguments.options, workers), {}, {}, {}, std::nullopt, {}};
  train::require_memory(worker.device(), arguments.options, prepared.source, 1);
  prepared.options = with_servers(arguments, prepared.source, workers);
  prepared.run = identity_of(arguments, config, prepared.source);
  if (rank != 0) return prepared;
  prepared.manifest = manifest(arguments, prepared.source, world, workers);
  prepared.progress.emplace(samples_to_train(arguments.options, prepared.source), arguments.quiet);
  prepared.opened = open_run(arguments, config, prepared.run, metrics::EventFile::Clock::wall);
  if (prepared.opened.folder) prepared.opened.folder->write("manifest.json", core::text_of(prepared.manifest, 2) + "\n");
  return prepared;
}

void train_prepared(comm::Worker& worker, const TrainingArguments& arguments, Prepared& prepared) {
  const auto start = Clock::now();
  metrics::Progress* const progress = prepared.progress ? &*prepared.progress : nullptr;
  const train::TrainingOptions options = options_to_train(prepared.options, prepared.opened, progress);
  const train::Output output = output_of(arguments, prepared.opened, prepared.run, progress);
  Instruments instruments(arguments.instruments, worker.size(), 1, [&](const std::string& line) {
    if (prepared.progress) prepared.progress->say(line);
  });
  train::Result result;
  std::vector<LostWorker> lost;
  instruments.watch(worker, [&](comm::Worker& watched) {
    lost = run_role(watched, workers_of(options, worker.size()), options, output,
                    [&](comm::Worker& worker) { result = train::train(worker, options, prepared.source, output); });
  });
  if (worker.rank() != 0) return;
  prepared.progress.reset();
  if (auto& folder = prepared.opened.folder) {
    folder->record(end_record(result));
    instruments.write(*folder, "wall");
    finish_manifest(prepared.manifest, result, std::chrono::duration<double>(Clock::now() - start).count());
    folder->write("manifest.json", core::text_of(prepared.manifest, 2) + "\n");
    remove_state(arguments);
  }
  print_result(arguments, result, "wall-clock");
  print_lost(lost);
}

int train_alone(const TrainingArguments& arguments, const std::string& config) {
  if (is_complete(arguments, config)) return say_complete(arguments);
  const auto device = backend::make_device(arguments.device);
  comm::SoloCommunicator communicator(*device);
  comm::RealWorker worker(communicator);
  Prepared prepared = prepare(arguments, config, "single", worker);
  train_prepared(worker, arguments, prepared);
  return success;
}

/// Only rank 0 checks whether there is something to resume: on a network file system, other ranks may see the files later.
void spread_phase(comm::Communicator& comm, std::optional<int>& phase) {
  double spread = comm.rank() == 0 && phase ? *phase + 1 : 0;
  comm::sum_in_rank_order(comm, {&spread, 1});
  if (spread > 0) phase = static_cast<int>(spread) - 1;
}

/// Advice to print when the death of a rank has ended the run.
std::string advice_after_death(const TrainingArguments& arguments) {
  if (arguments.checkpoint_every == 0) return "";
  return core::format("the run in {} can be resumed with --resume", core::printable(arguments.out));
}

int train_as_rank(const TrainingArguments& arguments, const std::string& config) {
  const auto body = [&](comm::Worker& worker) {
    if (arguments.workers_per_node > 0) worker.comm().set_workers_per_node(arguments.workers_per_node);
    double complete = 0;
    prepare_all(worker.comm(), [&] {
      if (worker.rank() == 0) complete = is_complete(arguments, config) ? 1 : 0;
    });
    comm::sum_in_rank_order(worker.comm(), {&complete, 1});
    if (complete != 0) {
      if (worker.rank() == 0) say_complete(arguments);
      return;
    }
    std::optional<Prepared> prepared;
    prepare_all(worker.comm(), [&] { prepared = prepare(arguments, config, "mpi", worker); });
    spread_phase(worker.comm(), prepared->opened.resume_phase);
    train_prepared(worker, arguments, *prepared);
  };
  return run_as_rank(arguments.device, body, deaths_of(arguments.options),
                     {.advice = advice_after_death(arguments), .stop_limit_s = worker_timeout_s(arguments.options)});
}

int run(TrainingArguments& arguments, const CLI::App& parser) {
  resolve(arguments);
  require_learning_rate(arguments.options);
  if (!arguments.replay.empty()) throw core::ConfigError("--replay works with emulated workers only: use paragrad simulate");
  const OptionUse use = use_of_training(parser, arguments, true);
  settle(use, arguments);
  const std::string config = use.config();
  return comm::under_mpiexec() ? train_as_rank(arguments, config) : train_alone(arguments, config);
}

}  // namespace

Command train_command() {
  auto arguments = std::make_shared<TrainingArguments>();
  auto parser = make_parser("train", "Train a network on this machine; under mpiexec, with one worker per rank.");
  add_training_options(*parser, *arguments);
  parser->get_option("--data")->required();
  show_first(*parser, common_training_options);
  set_examples(*parser,
               "paragrad train --data frames.h5 --model 40-64-120:relu --learning-rate 0.05 --epochs 2 --out runs/one\n"
               "paragrad train --config runs/one/config.toml --learning-rate 0.1 --out runs/faster\n"
               "mpiexec -n 2 paragrad train --strategy bmuf --blocks 5 \\\n"
               "    --data frames.h5 --model 40-64-120:relu --learning-rate 0.05 --epochs 2 --out runs/two");
  return {parser, [arguments, parser] { return run(*arguments, *parser); }};
}

}  // namespace paragrad::app
