#include "train/trainer.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "comm/allreduce.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "nn/node_text.hpp"
#include "train/diverged.hpp"
#include "train/state/checkpoint.hpp"

namespace paragrad::train {
namespace {

/// What the size means for one worker and, unless servers take each worker's gradient by itself, for all of them.
std::string describe_minibatch(std::size_t minibatch, int workers, bool shared, bool served) {
  const auto size = static_cast<double>(minibatch);
  if (shared)
    return core::format("minibatches of {} samples, {:.4g} on each of {} workers", minibatch, size / workers, workers);
  const std::string each = core::format("minibatches of {} on each of {} workers", minibatch, workers);
  return served ? each : each + core::format(", {:.0f} in all", size * workers);
}

}  // namespace

Result Trainer::run() {
  try {
    return run_to_the_end();
  } catch (const comm::Failure&) {
    save_what_is_there();
    throw;
  } catch (const Diverged& error) {
    const bool has_model = !run_.output.state_folder.empty() && run_.output.last_phase && run_.epoch > 1;
    throw core::ConfigError(
        core::format("{}{}", error.what(), has_model ? " (checkpoint.h5 in the run folder is from an earlier epoch)" : ""));
  }
}

Result Trainer::run_to_the_end() {
  start();
  explain();
  if (run_.parallel()) run_.start_strategy();  // preparation does not count as training time
  if (run_.everybody.rank() == 0 && run_.output.begin) run_.output.begin();
  run_.start_s = run_.worker.comm().now_s() - run_.output.resumed_at_s.value_or(0);
  if (!run_.output.resume_phase && !initial_.empty()) run_.write_model(0);
  for (const auto& observer : run_.observers) observer->before_training();
  run_.result.training_s = run_.elapsed_s();
  for (; run_.epoch <= run_.options.epochs; ++run_.epoch) {
    train_epoch();
    if (run_.ending != Ending::open) break;
  }
  for (const auto& observer : run_.observers) observer->after_training();
  return finish();
}

void Trainer::train_epoch() {
  for (const auto& observer : run_.observers) observer->before_epoch();
  if (run_.block == 0) run_.sums = {};
  run_.traffic.resume();
  run_.loop.run(run_.setting(), {.first_block = run_.block}, run_.sums, [&](const EpochLoop::Progress& at) {
    run_.block = at.done;
    for (const auto& observer : run_.observers) observer->after_block(at);
    if (run_.output.after_block) run_.output.after_block();
  });
  run_.block = 0;
  for (const auto& observer : run_.observers) observer->after_epoch();
  run_.traffic.pause();
  run_.result.epochs = run_.epoch;
}

// Worker 0 makes or reads the initial model and broadcasts it.
void Trainer::start() {
  std::string mistake;
  try {
    check();
    if (run_.leads()) load_initial_model();
  } catch (const core::ConfigError& error) {
    mistake = error.what();
  }
  run_.shows_model = run_.report.is_recorded() && run_.output.last_phase;
  if (run_.learner().talks()) {
    double wanted = run_.shows_model ? 1 : 0;
    comm::sum_in_rank_order(run_.everybody.comm(), {&wanted, 1});
    run_.shows_model = wanted != 0 && run_.leads();
  }
  run_.broadcast_model();  // even after an error: without other traffic the simulator computes it at once
  if (const std::string first = comm::first_error(run_.worker.comm(), mistake); !first.empty())
    throw core::ConfigError(first);
}

void Trainer::check() {
  const TrainingOptions& options = run_.options;
  for (const auto& observer : run_.observers) observer->check();
  const std::size_t splits = run_.source.partition->workers();
  if (run_.blocks.strategy().share() == strategies::Share::block && splits != static_cast<std::size_t>(run_.worker.size()))
    throw core::ConfigError(
        core::format("strategy '{}' gives each worker one split of every block: {} workers need {} splits, not {}",
                     options.strategy, run_.worker.size(), run_.worker.size(), splits));
}

void Trainer::load_initial_model() {
  Learner& learner = run_.learner();
  const TrainingOptions& options = run_.options;
  if (!initial_.empty()) return learner.restore(initial_);
  if (options.init.empty()) return learner.initialise(options.seed);
  const Checkpoint checkpoint = read_checkpoint(options.init);
  if (checkpoint.parameters.size() != learner.model_size() || checkpoint.model != options.model)
    throw core::ConfigError(core::format("checkpoint '{}' holds the model '{}', not '{}'", options.init,
                                         nn::short_name(checkpoint.model), nn::short_name(options.model)));
  require_same_kind(checkpoint.data, core::format("checkpoint '{}'", options.init), run_.source.info);
  learner.restore(checkpoint.parameters);
}

void Trainer::explain() {
  if (!run_.output.last_phase || run_.options.epochs == 0) return;
  const bool computes = run_.learner().computes();
  const TrainingOptions& options = run_.options;
  const data::Partition& partition = *run_.source.partition;
  const bool shared = run_.blocks.strategy().share() == strategies::Share::minibatch;
  const std::size_t units = partition.samples() / partition.blocks() / (shared ? 1 : partition.workers());
  const std::size_t minibatch = options.minibatch == 0 ? std::max<std::size_t>(units, 1) : options.minibatch;
  const std::size_t steps = (units + minibatch - 1) / minibatch;
  const std::size_t local_steps = options.max_steps > 0 ? std::min(steps, options.max_steps) : steps;
  strategies::Remarks remarks =
      run_.blocks.strategy().explain({.workers = run_.worker.size(),
                                      .samples = static_cast<double>(run_.source.samples(data::Subset::train)),
                                      .blocks = static_cast<double>(partition.blocks()),
                                      .local_steps = static_cast<double>(local_steps),
                                      .momentum = run_.blocks.step_sizes().of(0, minibatch).momentum,
                                      .optimiser = options.optimiser.name,
                                      .parameters = run_.learner().parameters().size(),
                                      .layout = run_.learner().layout(),
                                      .communicator = run_.report.is_watched() ? &run_.worker.comm() : nullptr});
  if (!run_.output.explains) remarks = {.numbers = std::move(remarks.numbers)};
  run_.report.take_down(remarks, computes, run_.result);
  if (!computes || !run_.output.explains) return;
  if (run_.worker.size() > 1 && options.minibatch > 0)
    run_.report.say(describe_minibatch(options.minibatch, run_.worker.size(), shared, run_.blocks.served() != nullptr));
  if (options.takes_customary_rate)
    run_.report.say(core::format("learning rate {}, which is customary for {}, as none was given",
                                 options.schedule.initial_rate, options.optimiser.name));
  run_.report.say(run_.blocks.step_sizes().describe());
  if (const auto& spread = run_.source.spread)
    run_.report.say(core::format("partition {}: {}{}", partition.kind(), data::describe(*spread),
                                 run_.source.windows[0] ? " (samples are windows of the text)" : ""));
}

Result Trainer::finish() {
  Result& result = run_.result;
  Learner& learner = run_.learner();
  if (run_.output.last_phase)
    result.test = run_.evaluator.score(data::Subset::test);
  else
    run_.expect_finite(result.model = learner.snapshot());
  result.times = run_.times;
  result.data_wait_s = run_.loop.data_wait_s();
  result.timing_only = !learner.computes();
  if (run_.blocks.served() != nullptr && !run_.strategy_started)
    run_.start_strategy();  // its servers wait for workers to leave
  if (run_.strategy_started) run_.report.take_down(run_.blocks.strategy().report(run_.worker), learner.computes(), result);
  if (run_.leads() && learner.computes()) {
    const std::vector<float> model = learner.snapshot();
    run_.expect_finite(model);
    result.parameters_sha256 = parameters_sha256(model);
  }
  if (!run_.output.state_folder.empty() && run_.output.last_phase)
    comm::barrier(run_.everybody.comm());  // no worker needs the state any more
  return std::move(result);
}

// A worker is gone for good: the parameters that worker 0 has now are the best available, unless the best are written
// already.
void Trainer::save_what_is_there() {
  if (run_.served() == nullptr || (run_.keeps_best() && !run_.least_error.parameters.empty())) return;
  run_.worker.abandon_tasks();
  run_.write_model(run_.epoch - 1);  // the number of complete epochs
}

}  // namespace paragrad::train
