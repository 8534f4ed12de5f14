#include "train/training_run.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "comm/allreduce.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::train {
namespace {

std::size_t largest_minibatch(const comm::Worker& worker, const TrainingOptions& options, const TrainingData& source) {
  const MinibatchSearchOptions& search = options.minibatch_search;
  const std::size_t all = source.samples(data::Subset::train);
  if (search.enabled) return std::min(all, std::max(search.largest, options.minibatch));
  const std::size_t together = options.minibatch == 0 ? all : options.minibatch;
  const auto workers = static_cast<std::size_t>(worker.size());
  return shares_minibatches(options) && options.parallel_start_epoch <= 1 && !options.balance
             ? (together + workers - 1) / workers
             : together;
}

/// Whether anybody sees the model: a run that only measures the time of training, with imaginary samples, has none to score
/// and writes no checkpoint.
bool is_seen(TrainingRun& run) {
  return run.learner().computes() || run.source.samples(data::Subset::valid) + run.source.samples(data::Subset::test) > 0;
}

/// Replaces buffers by their mean over the workers, weighted by the samples that each has trained in the epoch.
void average_buffers(TrainingRun& run) {
  const std::span<float> buffers = run.learner().buffers();
  if (buffers.empty() || !is_seen(run)) return;
  std::vector<float> own(buffers.size());
  run.worker.device().transfer(std::span<const float>(buffers), std::span(own));
  std::vector<double> sums;
  do {
    sums.clear();
    for (const float value : own) sums.push_back(static_cast<double>(value) * run.sums.samples);
    sums.push_back(run.sums.samples);
  } while (!run.add_up(sums));
  if (sums.back() == 0) return;  // nothing is trained yet, and they are the same everywhere
  for (std::size_t i = 0; i < own.size(); ++i) own[i] = static_cast<float>(sums[i] / sums.back());
  run.worker.device().transfer(std::span<const float>(own), buffers);
}

std::unique_ptr<optim::Schedule> schedule_of(const TrainingOptions& options, const EpochLoop& loop) {
  optim::ScheduleOptions schedule = options.schedule;
  if (schedule.warm_up_minibatches > 0)
    schedule.minibatches = loop.minibatches({.minibatch = options.minibatch, .alone = options.parallel_start_epoch > 1});
  return optim::make_schedule(schedule);
}

/// Timing runs with NCCL's collectives also broadcast with NCCL, which takes time but sends no messages.
comm::Broadcast broadcast_of(const TrainingOptions& options) {
  const auto collective = options.strategy_settings.find("collective");
  const bool is_nccl = collective != options.strategy_settings.end() && collective->second.text() == "nccl";
  return comm::Broadcast(is_nccl && !options.computes ? "nccl" : "scatter_all_gather");
}

}  // namespace

TrainingRun::TrainingRun(comm::Worker& worker_, comm::Worker& everybody_, const TrainingOptions& options_,
                         const WorkerInput& input, const MakeLearner& make_learner, const Output& output_)
    : worker(worker_),
      everybody(everybody_),
      options(options_),
      source(input.source),
      output(output_),
      report(output, everybody.rank() == 0),
      traffic(everybody),
      blocks(worker, options, source, make_learner, largest_minibatch(worker, options, source), times),
      mean(options.ema_decay, worker, blocks.learner()),
      loop(worker, options, input, blocks, times),
      schedule(schedule_of(options, loop)),
      evaluator(worker, blocks.learner(), blocks.cost(), input, [this](std::span<double> values) { return add_up(values); }),
      broadcast(broadcast_of(options)),
      minibatch(options.minibatch) {
  result.pretraining_s = output.earlier_s;
  result.pretraining_samples = output.earlier_samples;
  observers = observers_of(*this);
}

void TrainingRun::start_strategy() {
  blocks.start_strategy();
  strategy_started = true;
}

void TrainingRun::broadcast_model() {
  traffic.without([&] {
    broadcast(worker.comm(), learner().parameters());
    if (!learner().buffers().empty()) broadcast(worker.comm(), learner().buffers());
  });
}

void TrainingRun::show_model() {
  blocks.strategy().show_model(worker, blocks.replica());
  mean.show();
  traffic.without([&] { average_buffers(*this); });
}

void TrainingRun::resume_work() {
  mean.resume();
  blocks.strategy().resume_work(worker, blocks.replica());
}

TrafficAccount::Summary TrainingRun::traffic_of_all() {
  if (learner().talks() && everybody.comm().simulated_time() != nullptr) {
    double nothing = 0;  // scores are summed among the workers with the same part of the network; the others report, too
    comm::sum_in_rank_order(everybody.comm(), {&nothing, 1});
  }
  return traffic.summarise([this](std::span<double> values) {
    if (served() != nullptr) return add_up(values);
    comm::sum_in_rank_order(everybody.comm(), values);
    return true;
  });
}

bool TrainingRun::add_up(std::span<double> values) {
  if (auto* const strategy = served()) return strategy->add_up(worker, values);
  comm::sum_in_rank_order(worker.comm(), values);
  return true;
}

void TrainingRun::expect_validation(std::string_view why) const {
  if (source.samples(data::Subset::valid) == 0)
    throw core::ConfigError(core::format("'{}' has no validation samples; {}", options.data, why));
}

void TrainingRun::expect_finite(std::span<const float> model) const {
  if (std::ranges::all_of(model, [](float weight) { return std::isfinite(weight); })) return;
  throw core::ConfigError(core::format(
      "weights became infinite or NaN in epoch {} and are not saved: lower the learning rate, or clip gradients",
      std::min(epoch, std::max(1, options.epochs))));
}

void TrainingRun::expect_finite_optimiser() {
  if (!learner().computes()) return;
  core::StateView state;
  learner().optimiser().describe_state(state);
  std::vector<float> values;
  for (const core::StateView::Array& array : state.arrays) {
    values.resize(array.values.size());
    worker.device().transfer(std::span<const float>(array.values), std::span(values));
    if (std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) continue;
    throw core::ConfigError(
        core::format("'{}' of the optimiser '{}' became infinite or NaN in epoch {}, and no further step can use it: "
                     "scale features and targets down, or clip gradients",
                     array.name, options.optimiser.name, epoch));
  }
}

void TrainingRun::write_model(int epochs) {
  if (!shows_model) return;
  std::vector<float> model;
  traffic.without([&] { model = learner().snapshot(); });
  expect_finite(model);
  if (report.has_folder() && learner().computes()) report.write_checkpoint(options, source, epochs, std::move(model));
}

void TrainingRun::go_back_to(const BestModel& best, int epochs) {
  if (leads()) learner().restore(best.parameters);
  broadcast_model();
  result.valid = best.score;
  write_model(epochs);
}

core::StateView TrainingRun::describe() {
  core::StateView all;
  all.add("parameters", learner().parameters(),
          strategies::strategy_entry(options.strategy).replicas_differ ? core::Rescale::mean : core::Rescale::equal);
  add_state(all, "optimiser", learner().optimiser());
  add_state(all, "optimiser", blocks);
  add_state(all, "learner", learner());
  if (strategy_started) add_state(all, "strategy", blocks.strategy());
  add_state(all, "mean", mean);
  add_state(all, "balance", loop);
  add_state(all, "schedule", *schedule);
  add_state(all, "sums", sums);
  add_state(all, "times", times);
  add_state(all, "reported", report);
  add_state(all, "traffic", traffic);
  for (const auto& observer : observers) observer->describe_state(all);
  return all;
}

}  // namespace paragrad::train
