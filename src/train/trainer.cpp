#include "train/trainer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "comm/allreduce.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "train/state/checkpoint.hpp"
#include "train/state/resume_point.hpp"
#include "train/time_breakdown.hpp"

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

/// Adds the state of one part of the training to the whole.
void add_to(core::StateView& all, const std::string& owner, core::StateView part) {
  for (auto& array : part.arrays) all.add(owner + "/" + array.name, array.values);
  for (auto& number : part.numbers) all.numbers.push_back({owner + "/" + number.name, number.value});
}

core::StateView of(auto& who) {
  core::StateView state;
  who.describe_state(state);
  return state;
}

}  // namespace

Trainer::Trainer(comm::Worker& worker, comm::Worker& everybody, const TrainingOptions& options, const WorkerInput& input,
                 const MakeLearner& make_learner, const Output& output, std::span<const float> initial)
    : worker_(worker),
      everybody_(everybody),
      options_(options),
      source_(input.source),
      output_(output),
      report_(output, everybody.rank() == 0),
      initial_(initial),
      store_(everybody, output.state_folder, output.run, everybody.rank() == 0 ? output.folder : nullptr),
      traffic_(everybody),
      schedule_(optim::make_schedule(options.schedule)),
      blocks_(worker, options, source_, make_learner, largest_minibatch(worker, options, source_), times_),
      walk_(worker, options, input, blocks_, times_),
      evaluator_(worker, blocks_.learner(), blocks_.cost(), input,
                 [this](std::span<double> values) { return add_up(values); }),
      minibatch_(options.minibatch) {
  result_.pretraining_s = output.earlier_s;
  result_.pretraining_samples = output.earlier_samples;
}

Result Trainer::run() {
  try {
    return run_to_the_end();
  } catch (const comm::Failure&) {
    save_what_is_there();
    throw;
  }
}

// A worker is gone for good: the parameters that worker 0 has now are the best available.
void Trainer::save_what_is_there() {
  if (served() == nullptr) return;
  worker_.abandon_tasks();
  write_model(epoch_ - 1);  // the number of complete epochs
}

Result Trainer::run_to_the_end() {
  start();
  explain();
  if (parallel()) become_parallel();  // preparation does not count as training time
  start_s_ = worker_.comm().now_s();
  if (output_.resume_phase)
    resume();
  else if (!initial_.empty())
    write_model(0);
  result_.training_s = elapsed_s();
  for (; epoch_ <= options_.epochs; ++epoch_) {
    if (parallel() && !strategy_started_) become_parallel();
    if (block_ == 0 && search_before(options_.minibatch_search, epoch_)) tune_minibatch();
    train_epoch();
    finish_epoch();
    result_.epochs = epoch_;
    if (reached_target()) break;
  }
  if (options_.epochs == 0) score_epoch();
  if (least_error_.score.error < result_.valid.error) go_back_to(least_error_, result_.epochs);
  if (output_.last_phase)
    result_.test = evaluator_.score(data::Subset::test);
  else
    result_.model = learner().snapshot();
  result_.times = times_;
  result_.traffic = sent_.total;
  result_.data_wait_s = walk_.data_wait_s();
  result_.timing_only = !learner().computes();
  if (strategy_started_) report_.take_down(blocks_.strategy().report(worker_), learner().computes(), result_);
  if (leads()) result_.parameters_sha256 = learner().model_sha256();
  if (!output_.state_folder.empty() && output_.last_phase)
    comm::barrier(everybody_.comm());  // no worker needs the state any more
  return result_;
}

void Trainer::check() {
  if (options_.target_error >= 0 && source_.samples(data::Subset::valid) == 0)
    throw core::ConfigError(core::format("'{}' has no validation samples; `target-error` needs some", options_.data));
  if (options_.keep_best && output_.last_phase && source_.samples(data::Subset::valid) == 0)
    throw core::ConfigError(core::format("'{}' has no validation samples; `keep-best` needs some", options_.data));
  if (options_.validations > 1 && blocks_.served() != nullptr)
    throw core::ConfigError(
        core::format("workers of '{}' synchronise only at the end of an epoch: leave out `validations`", options_.strategy));
  const std::size_t splits = source_.partition->workers();
  if (blocks_.strategy().share() == strategies::Share::block && splits != static_cast<std::size_t>(worker_.size()))
    throw core::ConfigError(
        core::format("strategy '{}' gives each worker one split of every block: {} workers need {} splits, not {}",
                     options_.strategy, worker_.size(), worker_.size(), splits));
}

void Trainer::explain() {
  if (!output_.last_phase || options_.epochs == 0) return;
  report_.take_down(blocks_.strategy().explain({.workers = worker_.size(),
                                                .samples = static_cast<double>(source_.samples(data::Subset::train)),
                                                .blocks = static_cast<double>(source_.partition->blocks()),
                                                .parameters = learner().parameters().size(),
                                                .communicator = report_.is_watched() ? &worker_.comm() : nullptr}),
                    learner().computes(), result_);
  if (learner().computes()) report_.say(blocks_.step_sizes().describe());
}

// Worker 0 makes or reads the initial model and broadcasts it.
void Trainer::start() {
  std::string mistake;
  try {
    check();
    if (leads()) load_initial_model();
  } catch (const core::ConfigError& error) {
    mistake = error.what();
  }
  shows_model_ = report_.has_folder() && output_.last_phase;
  if (learner().talks()) {
    double wanted = shows_model_ ? 1 : 0;
    comm::sum_in_rank_order(everybody_.comm(), {&wanted, 1});
    shows_model_ = wanted != 0 && leads();
  }
  broadcast_model();  // even after an error: without other traffic the simulator computes it at once
  if (const std::string first = comm::first_error(worker_.comm(), mistake); !first.empty()) throw core::ConfigError(first);
}

void Trainer::load_initial_model() {
  if (!initial_.empty()) return learner().restore(initial_);
  if (options_.init.empty()) return learner().initialise(options_.seed);
  const Checkpoint checkpoint = read_checkpoint(options_.init);
  if (checkpoint.parameters.size() != learner().model_size() || checkpoint.model != options_.model)
    throw core::ConfigError(
        core::format("checkpoint '{}' holds the model '{}', not '{}'", options_.init, checkpoint.model, options_.model));
  learner().restore(checkpoint.parameters);
}

// From here on all workers train. The others get worker 0's optimiser state, as if they had trained too.
void Trainer::become_parallel() {
  if (epoch_ > 1) {
    core::StateView state;
    learner().optimiser().describe_state(state);
    for (const auto& array : state.arrays) comm::broadcast(worker_.comm(), array.values);
    for (const auto& number : state.numbers) {
      double value = leads() ? number.get() : 0;
      comm::sum_in_rank_order(worker_.comm(), {&value, 1});
      number.set(value);
    }
  }
  blocks_.start_strategy();
  strategy_started_ = true;
}

EpochSetting Trainer::setting() const {
  return {.epoch = epoch_, .rate = schedule_->rate(), .minibatch = minibatch_, .alone = !parallel()};
}

void Trainer::broadcast_model() {
  comm::broadcast(worker_.comm(), learner().parameters());
  if (!learner().buffers().empty()) comm::broadcast(worker_.comm(), learner().buffers());
}

/// Makes the workers' replicas those that are scored and saved.
void Trainer::show_model() {
  traffic_.during([&] { blocks_.strategy().show_model(worker_, blocks_.replica()); });
  average_buffers();
}

void Trainer::average_buffers() {
  const std::span<float> buffers = learner().buffers();
  if (buffers.empty() || source_.network->not_computable() != nullptr) return;
  std::vector<float> own(buffers.size());
  worker_.device().transfer(std::span<const float>(buffers), std::span(own));
  std::vector<double> sums;
  do {
    sums.assign(own.begin(), own.end());
    sums.push_back(1);  // counts the workers
  } while (!add_up(sums));
  for (std::size_t i = 0; i < own.size(); ++i) own[i] = static_cast<float>(sums[i] / sums.back());
  worker_.device().transfer(std::span<const float>(own), buffers);
}

void Trainer::tune_minibatch() {
  const auto sizes = sizes_to_try(options_.minibatch_search, options_.minibatch, minibatch_);
  minibatch_ = search_minibatch(options_.minibatch_search, sizes, [&](std::size_t size) { return try_minibatch(size); });
  report_.say(core::format("epoch {:3}  minibatch {} (tried {} to {})", epoch_, minibatch_, sizes.front(), sizes.back()));
}

// Returns the loss per sample at the beginning of the epoch, and restores the state afterwards.
double Trainer::try_minibatch(std::size_t size) {
  const SavedState before(describe_training(), worker_.device());
  const std::size_t samples = options_.minibatch_search.samples;
  EpochSetting setting = this->setting();
  setting.minibatch = size;
  setting.trial = true;
  Sums sums;
  walk_.run(setting, {.samples = samples > 0 ? samples : 500 * options_.minibatch}, sums, [](const auto&) {});
  if (strategy_started_) blocks_.strategy().show_model(worker_, blocks_.replica());
  std::array<double, 2> together{sums.loss, sums.samples};
  comm::sum_in_rank_order(worker_.comm(), together);
  const TimeBreakdown spent = times_;
  before.restore(describe_training(), worker_.device());
  times_ = spent;
  return together[0] / together[1];
}

void Trainer::train_epoch() {
  if (block_ == 0) sums_ = {};
  traffic_.resume();
  walk_.run(setting(), {.first_block = block_}, sums_, [&](const EpochLoop::Progress& at) {
    traffic_.pause();
    block_ = at.done;
    if (report_.is_watched())
      report_.advance(at.samples, core::format("epoch {}/{} block {}/{}", epoch_, options_.epochs, at.done, at.blocks));
    if (validates_after(at)) validate_within(at);
    if (output_.state_every_blocks > 0 && parallel() && blocks_.served() == nullptr && at.done < at.blocks &&
        at.done % output_.state_every_blocks == 0)
      save_state();
    traffic_.resume();
  });
  traffic_.pause();
  block_ = 0;
  if (!parallel()) broadcast_model();
}

// Whether one of the epoch's validations is due; finish_epoch does the last one.
bool Trainer::validates_after(const EpochLoop::Progress& at) const {
  const auto due = [&](std::size_t done) { return done * static_cast<std::size_t>(options_.validations) / at.blocks; };
  return parallel() && at.done < at.blocks && due(at.done) > due(at.done - 1);
}

void Trainer::validate_within(const EpochLoop::Progress& at) {
  show_model();
  validate();
  report_.tell({epoch_, schedule_->rate(), minibatch_, elapsed_s(), at.done}, learner(), result_, times_, sent_.recent);
  traffic_.during([&] { blocks_.strategy().resume_work(worker_, blocks_.replica()); });
}

void Trainer::finish_epoch() {
  const double rate = schedule_->rate();
  if (parallel()) show_model();
  validate();
  samples_before_ = result_.samples;
  write_model(epoch_);
  report_.tell({epoch_, rate, minibatch_, elapsed_s()}, learner(), result_, times_, sent_.recent);
  const bool last = epoch_ == options_.epochs || reached_target();
  if (schedule_->observe(epoch_, result_.valid.loss))
    restart_from_best();
  else if (parallel() && !last)
    traffic_.during([&] { blocks_.strategy().resume_work(worker_, blocks_.replica()); });
  if (output_.state_every_blocks == 0 || last) return;
  ++epoch_;
  save_state();
  --epoch_;
}

void Trainer::score_epoch() {
  const ScopedTimer validate(worker_, core::Activity::validate, times_.validate_s);
  std::array<double, 3> sums{};
  traffic_.post();
  do {
    sums = {sums_.loss, sums_.errors, sums_.samples};
  } while (!add_up(sums));
  sent_ = traffic_.summarise([this](std::span<double> values) {
    if (served() != nullptr) return add_up(values);
    comm::sum_in_rank_order(everybody_.comm(), values);
    return true;
  });
  result_.train = learner().score({sums[0], sums[1], sums[2]});
  result_.samples = samples_before_ + static_cast<std::uint64_t>(sums[2]);
  result_.valid = evaluator_.score(data::Subset::valid);
  if (learner().has_free_energy())
    result_.train.free_energy = evaluator_.score(data::Subset::train, source_.samples(data::Subset::valid)).free_energy;
  result_.training_s = elapsed_s();
}

bool Trainer::add_up(std::span<double> values) {
  if (auto* const strategy = served()) return strategy->add_up(worker_, values);
  comm::sum_in_rank_order(worker_.comm(), values);
  return true;
}

void Trainer::validate() {
  score_epoch();
  const bool scored = learner().computes() && source_.samples(data::Subset::valid) > 0;
  if (scored && !std::isfinite(result_.valid.loss))
    throw core::ConfigError(
        core::format("the validation loss is {} after epoch {}: lower the learning rate (a checkpoint "
                     "holds the previous epoch)",
                     result_.valid.loss, epoch_));
  if (!scored) return;
  const auto remember = [&](BestModel& best) {
    best.score = result_.valid;
    if (leads()) best.parameters = learner().snapshot();
  };
  if (schedule_->goes_back() && result_.valid.loss < least_loss_.score.loss) remember(least_loss_);
  if (options_.keep_best && output_.last_phase && result_.valid.error < least_error_.score.error) remember(least_error_);
}

void Trainer::go_back_to(const BestModel& best, int epochs) {
  if (leads()) learner().restore(best.parameters);
  broadcast_model();
  result_.valid = best.score;
  write_model(epochs);
}

void Trainer::restart_from_best() {
  go_back_to(least_loss_, epoch_);
  worker_.run_kernels([&](backend::KernelQueue& queue) { learner().optimiser().forget(queue); });
  if (parallel()) blocks_.start_strategy();
}

void Trainer::write_model(int epochs) {
  if (!shows_model_) return;
  std::vector<float> model = learner().snapshot();
  if (report_.has_folder() && learner().computes()) report_.write_checkpoint(options_, source_, epochs, std::move(model));
}

// The state that a trial changes.
core::StateView Trainer::describe_training() {
  core::StateView all;
  all.add("parameters", learner().parameters());
  add_to(all, "optimiser", of(learner().optimiser()));
  add_to(all, "learner", of(learner()));
  if (strategy_started_) add_to(all, "strategy", of(blocks_.strategy()));
  add_to(all, "balance", of(blocks_));
  add_to(all, "schedule", of(*schedule_));
  add_to(all, "sums", of(sums_));
  add_to(all, "times", of(times_));
  add_to(all, "reported", of(report_));
  add_to(all, "traffic", of(traffic_));
  return all;
}

core::StateView Trainer::describe_run() {
  core::StateView all = describe_training();
  add_to(all, "least_loss", of(least_loss_));
  add_to(all, "least_error", of(least_error_));
  return all;
}

void Trainer::save_state() {
  worker_.join();  // completes pending transfers
  if (auto* const strategy = served()) strategy->collect_state(worker_, blocks_.replica());
  ResumePoint resume_point{.epoch = static_cast<double>(epoch_),
                           .block = static_cast<double>(block_),
                           .minibatch = static_cast<double>(minibatch_),
                           .started = strategy_started_ ? 1. : 0.,
                           .samples = static_cast<double>(samples_before_),
                           .elapsed_s = elapsed_s(),
                           .earlier_s = result_.pretraining_s,
                           .earlier_samples = static_cast<double>(result_.pretraining_samples)};
  core::StateView state = describe_run();
  resume_point.describe_state(state);
  store_.save(SavedState(state, worker_.device()), core::format("{}-{}-{}", output_.phase, epoch_, block_), output_.phase);
}

void Trainer::resume() {
  const SavedState saved = store_.load();
  ResumePoint resume_point;
  {
    core::StateView state;
    resume_point.describe_state(state);
    saved.restore(state, worker_.device());
  }
  epoch_ = static_cast<int>(resume_point.epoch);
  block_ = static_cast<std::size_t>(resume_point.block);
  minibatch_ = static_cast<std::size_t>(resume_point.minibatch);
  samples_before_ = result_.samples = static_cast<std::uint64_t>(resume_point.samples);
  result_.pretraining_s = resume_point.earlier_s;
  result_.pretraining_samples = static_cast<std::uint64_t>(resume_point.earlier_samples);
  start_s_ = worker_.comm().now_s() - resume_point.elapsed_s;
  strategy_started_ = resume_point.started != 0;
  if (strategy_started_) {
    blocks_.start_strategy();
    if (blocks_.served() != nullptr) blocks_.served()->collect_state(worker_, blocks_.replica());
  }
  for (auto& [owner, best] : {std::pair("least_loss", &least_loss_), std::pair("least_error", &least_error_)})
    if (const auto name = core::format("{}/parameters", owner); saved.has(name)) best->parameters.resize(saved.length(name));
  core::StateView state = describe_run();
  saved.restore(state, worker_.device());
  if (auto* const strategy = served()) strategy->spread_state(worker_, blocks_.replica());
  report_.say(core::format("resumed in epoch {} after {} of its blocks", epoch_, block_));
}

}  // namespace paragrad::train
