#include "app/commands.hpp"
#include "app/training_job.hpp"
#include "cli/described_options.hpp"
#include "cli/option_use.hpp"
#include "comm/mpi/mpi_session.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/printable.hpp"

namespace paragrad::app {
namespace {

/// A training of this machine's workers.
class RealTraining : public TrainingJob {
 public:
  RealTraining(const runs::TrainingArguments& arguments, const std::string& config, const worlds::World& world,
               bool read_ahead)
      : TrainingJob(arguments, config, world), read_ahead_(read_ahead) {}

 private:
  train::TrainingData open(const train::TrainingOptions& options, int workers) const override {
    if (!backend::make_device(arguments().device)->computes())
      throw core::ConfigError(core::format(
          "the device '{}' counts work but computes nothing: train with cpu or reference, or time it with paragrad simulate",
          arguments().device));
    train::TrainingData source = TrainingJob::open(options, workers);
    if (!read_ahead_) source.prefetcher = std::make_shared<data::Prefetcher>(data::Reading::on_demand);
    return source;
  }

  bool read_ahead_;
};

/// Advice to print when the death of a rank has ended the run.
std::string advice_after_death(const runs::TrainingArguments& arguments) {
  if (arguments.checkpoint_every == 0) return "";
  return core::format("the run in {} can be resumed with --resume", core::printable(arguments.out));
}

struct RealArguments {
  runs::TrainingArguments training;
  int workers = 0;
  bool read_ahead = true;

  void describe(core::OptionList& list) {
    training.describe(list);
    list.described("data").required();
    list.group("");
    list.number("workers", workers, {.least = 0, .most = 1000000},
                "number of workers, which share the cores of this process or, under mpiexec, of all ranks (0: one; under "
                "mpiexec, one per rank)")
        .when(workers > 0, "is not given", "workers");  // 0 is left out of config.toml
    list.flag("read-ahead", read_ahead,
              "read the next split while a worker processes the current one (false: only when it is needed)")
        .mark(core::OptionMark::of_one_rank)
        .typed_only();  // config.toml is for simulate, too
  }
};

/// Of config.toml, which names the number of workers: another number of ranks, or emulated workers, can resume the run.
std::string config_of(const cli::OptionUse& use, const RealArguments& real, int servers) {
  std::string config = runs::config_of(use, real.training.options);
  const int workers = real.workers;
  const int ranks = comm::announced_ranks();
  if (workers == 0 && ranks > servers) config += core::format("workers={}\n", ranks - servers);
  return config;
}

/// Settles the options, or throws ConfigError if they cannot be combined.
cli::OptionUse settled(RealArguments& real, const CLI::App& parser) {
  runs::TrainingArguments& arguments = real.training;
  runs::resolve(arguments);
  runs::require_learning_rate(arguments);
  if (!arguments.replay.empty()) throw core::ConfigError("--replay works with emulated workers only: use paragrad simulate");
  cli::OptionUse use = cli::use_of(parser, real);
  runs::settle(use, arguments);
  return use;
}

int run(RealArguments& real, const CLI::App& parser) {
  runs::TrainingArguments& arguments = real.training;
  const worlds::RankFacts facts = worlds::facts_of(parser.get_name(), real);  // as given
  const cli::OptionUse use = settled(real, parser);
  const int servers = runs::servers_of(arguments.options), count = real.workers > 0 ? real.workers + servers : 0;
  const auto world = worlds::make_real_world(
      facts, arguments.device, {.count = count, .per_node = arguments.workers_per_node},
      {runs::deaths_of(arguments.options),
       {.advice = advice_after_death(arguments), .stop_limit_s = runs::worker_timeout_s(arguments.options)}});
  RealTraining job(arguments, runs::spelt_as_before(arguments, config_of(use, real, servers)), *world, real.read_ahead);
  return world->run(job);
}

}  // namespace

cli::Command train_command() {
  auto arguments = std::make_shared<RealArguments>();
  auto parser =
      cli::make_parser("train", "Train a network on this machine; under mpiexec, with one worker per rank or several.");
  runs::add_training_options(*parser, *arguments);
  cli::set_examples(*parser,
                    "paragrad train --data frames.h5 --model 40-64-120:relu --learning-rate 0.05 --epochs 2 --out runs/one\n"
                    "paragrad train --config runs/one/config.toml --learning-rate 0.1 --out runs/faster\n"
                    "paragrad train --workers 8 --strategy bmuf --blocks 5 --data frames.h5 --model 40-64-120:relu \\\n"
                    "    --learning-rate 0.05 --epochs 2 --out runs/one-process\n"
                    "mpiexec -n 2 paragrad train --strategy bmuf --blocks 5 \\\n"
                    "    --data frames.h5 --model 40-64-120:relu --learning-rate 0.05 --epochs 2 --out runs/two\n"
                    "mpiexec -n 3 paragrad train --workers 8 --strategy bmuf --blocks 5 \\\n"
                    "    --data frames.h5 --model 40-64-120:relu --learning-rate 0.05 --epochs 2 --out runs/three-ranks");
  return {parser, [arguments, parser] { return run(*arguments, *parser); },
          [arguments, parser] { settled(*arguments, *parser); }};
}

}  // namespace paragrad::app
