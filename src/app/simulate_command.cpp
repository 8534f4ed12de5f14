#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <utility>

#include "app/commands.hpp"
#include "app/training_job.hpp"
#include "cli/option_use.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "core/printable.hpp"
#include "core/units.hpp"
#include "predict/simulation_arguments.hpp"
#include "predict/timing_run.hpp"
#include "sim/fitting/interval.hpp"
#include "worlds/device_rate.hpp"
#include "worlds/failing_cluster.hpp"

namespace paragrad::app {
namespace {

using predict::SimulationArguments;
using predict::TimingRun;

/// A run either computes, on real data and to the end, or is only timed: then data may be missing and a part of it suffices.
void check_mode(SimulationArguments& arguments, bool computes) {
  train::TrainingOptions& options = arguments.training.options;
  const bool imaginary = arguments.imaginary_samples != std::array<std::size_t, 3>{};
  if (computes && imaginary)
    throw core::ConfigError(
        "--train-samples and --valid-samples stand for data in timing runs only (--device meta): to compute, give a data "
        "file "
        "with --data");
  if (computes && options.data.empty())
    throw core::ConfigError("--data is required; to time a training without data, give --device meta and --train-samples");
  if (computes) runs::require_learning_rate(arguments.training);
  if (computes && options.max_steps > 0)
    throw core::ConfigError(
        "--max-steps skips a part of each block, which only timing runs can do (--device meta): leave it out");
  if (imaginary && !options.data.empty()) throw core::ConfigError("give either --data or --train-samples, not both");
  if (!computes && options.minibatch_search.enabled)
    throw core::ConfigError(
        "--auto-minibatch needs the loss, which a timing run does not compute: give a size with --minibatch");
  if (!computes && options.schedule.name == "newbob")
    throw core::ConfigError(
        "the schedule 'newbob' needs the validation loss, which a timing run does not compute: choose another");
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

/// A training of emulated workers.
class SimulatedTraining : public TrainingJob {
 public:
  SimulatedTraining(SimulationArguments& arguments, const std::string& config, const worlds::SimWorld& world,
                    const worlds::DeviceRate& rate, bool computes, worlds::FailingCluster::Resumption resumption = {})
      : TrainingJob(arguments.training, config, world),
        arguments_(arguments),
        platform_(world.platform()),
        rate_(rate),
        computes_(computes),
        resumption_(std::move(resumption)) {}

  /// function: called when the run folder holds this run.
  void when_begun(std::function<void()> function) { when_begun_ = std::move(function); }

 private:
  train::TrainingData open(const train::TrainingOptions& options, int workers) const override {
    return computes_ ? train::open_training_data(options, workers)
                     : train::imagine_training_data(options, workers, arguments_.imaginary_samples);
  }
  void describe(core::Json& manifest) const override {
    manifest["run"]["device_rate"] = rate_.samples_per_s;
    if (arguments_.world.device_rate.step_cost_s) manifest["run"]["step_cost_s"] = *arguments_.world.device_rate.step_cost_s;
  }
  bool resumes() const override { return !resumption_.after_saving; }
  void complete(train::Output& output) const override {
    if (when_begun_)
      output.begin = [this, begin = std::move(output.begin)] {
        begin();
        when_begun_();
      };
    output.after_saving = resumption_.after_saving;
    output.resumed_at_s = resumption_.at_s;
    output.explains = !resumption_.at_s;
  }
  void explain() override {
    if (!computes_ && arguments_.training.instruments.timeline && arguments_.world.fast_collectives == "auto")
      say("--timeline shows every message: collectives are simulated message by message, as with --fast-collectives off");
  }
  void print_more(const train::TrainingOptions& options, const train::TrainingData& source) const override {
    if (!computes_) print_shortened_steps(options, source);
    if (!computes_ && platform_.fit) print_interval();
    const std::optional<double> step_cost_s = arguments_.world.device_rate.step_cost_s;
    if (rate_.given())
      fmt::print("a device alone trains {:.4g} samples/s{}: given, not predicted (the platform's roofline: {:.4g})\n",
                 rate_.samples_per_s,
                 step_cost_s
                     ? core::format(", and each step costs {} more", core::format_quantity(*step_cost_s, core::Unit::time))
                     : "",
                 rate_.roofline_samples_per_s);
    runs::print_cost_of_states(arguments_.training);
  }

  /// How sure the time is, on a platform that `paragrad fit` has written.
  void print_interval() const {
    const TimingRun timing = TimingRun::brief(arguments_);
    if (!rate_.given())
      return fmt::print("no interval: nobody has measured how fast a device trains {} on '{}'\n",
                        core::printable(timing.model()), core::printable(platform_.name));
    const int number =
        arguments_.world.device_rate.samples_per_s > 0 ? -1 : worlds::number_of_rate(platform_, timing.model());
    const sim::fitting::Row row = timing.row(platform_, number);
    const sim::fitting::Uncertainty found = sim::fitting::uncertainty_of(platform_, row, rate_.samples_per_s);
    fmt::print("{}\n", sim::fitting::interval_text(result().training_s, found));
  }

  const SimulationArguments& arguments_;
  const sim::Platform& platform_;
  worlds::DeviceRate rate_;
  bool computes_;
  worlds::FailingCluster::Resumption resumption_;
  std::function<void()> when_begun_;
};

/// The training has to save its state, and to resume by itself.
void check_failures(const SimulationArguments& arguments, bool computes) {
  const std::string platform = core::format("the devices of '{}' fail", arguments.world.platform);
  const runs::TrainingArguments& training = arguments.training;
  if (!computes)
    throw core::ConfigError(platform +
                            ", and a timing run has no state to resume from: predict its goodput with paragrad goodput");
  if (training.out.empty() || training.checkpoint_every == 0)
    throw core::ConfigError(platform + ": give --out and --checkpoint-every, so that training can resume");
  if (strategies::strategy_entry(training.options.strategy).has_servers)
    throw core::ConfigError(platform +
                            ", and what an asynchronous strategy loses with a worker is not simulated: choose "
                            "another strategy, or a platform without [failures]");
  if (training.options.pretraining.epochs > 0)
    throw core::ConfigError(platform + ", and pretraining does not resume on the simulated clock: leave it out");
  if (training.instruments.timeline)
    throw core::ConfigError(platform +
                            ", and a timeline would show the time since the last failure only: leave out --timeline");
}

/// Settles the options, or throws ConfigError if they cannot be combined.
cli::OptionUse settled(SimulationArguments& arguments, const CLI::App& parser) {
  runs::TrainingArguments& training = arguments.training;
  runs::resolve(training);
  const bool computes = backend::device_computes(training.device);
  if (!computes && (training.resume || training.checkpoint_every > 0))
    throw core::ConfigError("a timing run has no state to save: --checkpoint-every and --resume are for runs that compute");
  check_mode(arguments, computes);
  training.options.computes = computes;
  cli::OptionUse use = cli::use_of(parser, arguments);
  runs::settle(use, training);
  if (!computes) training.options.schedule.initial_rate = 1;  // unused
  return use;
}

int run(SimulationArguments& arguments, const CLI::App& parser) {
  runs::TrainingArguments& training = arguments.training;
  const cli::OptionUse use = settled(arguments, parser);
  const bool computes = training.options.computes;
  worlds::SimWorld world(arguments.world, training.device, training.workers_per_node);
  const int workers = arguments.world.workers;
  const double given = arguments.world.device_rate.samples_per_s;
  const double samples_per_s = given > 0 ? given : worlds::rate_of_model(world.platform(), training.options);
  const worlds::DeviceRate rate = worlds::device_rate(samples_per_s, world.platform(), training.options, workers);
  world.set_ranks(workers + runs::servers_of(training.options));
  world.set_compute_scale(rate.compute_scale);
  const std::string config = runs::spelt_as_before(training, runs::config_of(use, training.options));
  if (!world.platform().failures) {
    SimulatedTraining job(arguments, config, world, rate, computes);
    return world.run(job);
  }
  check_failures(arguments, computes);
  if (runs::is_complete(training, config)) return runs::say_complete(training);
  if (training.resume) {  // the simulated clock is not saved: an interrupted run starts again
    runs::require_same_run(training, config);
    training.resume = false;
    training.overwrite = true;
  }
  bool begun = false;  // before that, the folder may hold an earlier run
  worlds::FailingCluster cluster(world, workers, training.out + "/state", training.quiet);
  return cluster.run([&](const worlds::FailingCluster::Resumption& resumption) {
    if (begun) training.resume = true;
    auto job = std::make_unique<SimulatedTraining>(arguments, config, world, rate, computes, resumption);
    job->when_begun([&] { begun = true; });
    return job;
  });
}

}  // namespace

cli::Command simulate_command() {
  auto arguments = std::make_shared<SimulationArguments>();
  auto parser = cli::make_parser("simulate", "Train with N emulated workers in this process, on a simulated clock.");
  runs::add_training_options(*parser, *arguments);
  cli::set_examples(*parser,
                    "paragrad simulate --workers 8 --platform sim/platforms/k40m-fdr.toml --strategy bmuf --blocks 5 \\\n"
                    "    --data frames.h5 --model 40-64-120:relu --learning-rate 0.05 --epochs 2 --out runs/eight\n"
                    "paragrad simulate --workers 4 --platform sim/platforms/ethernet-10g.toml --strategy async_sgd \\\n"
                    "    --optimiser sgd --data frames.h5 --model 40-64-120:relu --learning-rate 0.05 --epochs 1\n"
                    "paragrad simulate --device meta --workers 64 --platform sim/platforms/p100-edr-nvlink.toml \\\n"
                    "    --model zoo:resnet50 --train-samples 1281167 --minibatch 4096 --strategy data_parallel \\\n"
                    "    --epochs 1 --max-blocks 1 --max-steps 2");
  return {parser, [arguments, parser] { return run(*arguments, *parser); },
          [arguments, parser] { settled(*arguments, *parser); }};
}

}  // namespace paragrad::app
