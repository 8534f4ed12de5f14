#include "train/trainer.hpp"

#include <cmath>
#include <limits>

#include "comm/allreduce.hpp"
#include "comm/broadcast.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "dist/model_averaging.hpp"
#include "train/checkpoint.hpp"
#include "train/evaluator.hpp"
#include "train/feed.hpp"
#include "train/learner.hpp"
#include "train/phase.hpp"
#include "train/plan.hpp"
#include "train/step_sizes.hpp"

namespace paragrad::train {
namespace {

/// Sums over the samples of a sweep or of a subset.
struct Sums {
  backend::LossSum loss;
  double samples = 0;
};

class Trainer {
 public:
  Trainer(comm::Worker& worker, const Options& options, const Source& source, const Output& output);
  Result run();

 private:
  void explain();
  void explain_collective();
  void take_down(const dist::Remarks& remarks);
  void check() const;
  void start();
  void load_initial_model();
  void warm_start();
  void broadcast_parameters();
  void begin_sweep(int sweep);
  void train_sweep(int sweep);
  void await_data();
  void train_block(const BlockPlan& plan);
  void train_minibatches(const BlockPlan& plan);
  void synchronise(std::size_t samples);
  void train_minibatch(std::size_t mine, std::size_t together);
  void exchange_minibatch(std::size_t mine);
  void score_sweep();
  void validate(int sweep);
  void remember_best();
  void go_back_to_best(int sweep);
  void report(int sweep, double rate);
  void write_model(int sweep);
  std::size_t largest_minibatch() const;
  backend::WorkMeter expected_work(const BlockPlan& plan);
  void take_in(backend::LossSum loss, std::size_t samples);
  void check_loss(double loss) const;
  bool leads() const { return worker_.rank() == 0; }
  bool exchanging() const { return exchanges_ && !warming_up_; }

  comm::Worker& worker_;
  const Options& options_;
  const Source& source_;
  Output output_;
  std::unique_ptr<dist::Strategy> strategy_;
  std::unique_ptr<optim::Schedule> schedule_;
  StepSizes step_sizes_;
  bool exchanges_;  // gradients, each minibatch of this sweep
  Learner learner_;
  std::vector<Learner::Stage> stages_;  // of an exchanged gradient
  std::unique_ptr<LearnerCost> cost_;   // null where nothing is computed: then the work is counted as it comes
  Evaluator evaluator_;
  Feed feed_;
  NextBatch next_;
  dist::Replica replica_;

  bool warming_up_ = false;
  int sweep_ = 0;
  std::size_t block_ = 0;
  std::size_t minibatch_ = 0;
  Sums sums_;
  PhaseTimes times_;
  PhaseTimes reported_;
  Result result_;
  double start_s_ = 0;
  std::vector<float> best_;  // worker 0, where the schedule may go back to it
  Score best_score_{std::numeric_limits<double>::infinity(), 1};
};

Trainer::Trainer(comm::Worker& worker, const Options& options, const Source& source, const Output& output)
    : worker_(worker),
      options_(options),
      source_(source),
      output_(worker.rank() == 0 ? output : Output{}),
      strategy_(dist::make_strategy(options.strategy, options.strategy_options)),
      schedule_(optim::make_schedule(options.schedule)),
      step_sizes_(options),
      exchanges_(strategy_->exchanges_gradients(worker.size())),
      learner_(worker.device(), source.network, options, largest_minibatch(), exchanges_),
      stages_(learner_.stages(strategy_->stage_elements())),
      cost_(worker.device().computes()
                ? std::make_unique<LearnerCost>(worker.device(), source.network, options, largest_minibatch(), exchanges_)
                : nullptr),
      evaluator_(worker, options, learner_, cost_.get(), source),
      feed_(source, data::Subset::train, worker, options, learner_.model().max_batch()),
      next_([this](std::size_t n) { return feed_.next(n); }),
      replica_{learner_.parameters(), learner_.layout(), learner_.optimiser(), {}} {}

std::size_t Trainer::largest_minibatch() const {
  const auto workers = static_cast<std::size_t>(worker_.size());
  const bool shared = strategy_->share() == dist::Share::minibatch && options_.warm_start_sweeps == 0;
  const std::size_t all = options_.minibatch == 0 ? source_.samples(data::Subset::train) : options_.minibatch;
  return shared ? (all + workers - 1) / workers : all;
}

Result Trainer::run() {
  start();
  explain();
  if (options_.warm_start_sweeps > 0) warm_start();
  strategy_->start(worker_, replica_);
  start_s_ = worker_.comm().now_s();
  for (int sweep = 1; sweep <= options_.sweeps; ++sweep) {
    const double rate = schedule_->rate();
    begin_sweep(sweep);
    train_sweep(sweep);
    strategy_->show_model(worker_, replica_);
    validate(sweep);
    write_model(sweep);
    report(sweep, rate);
    if (schedule_->observe(sweep, result_.valid.loss))
      go_back_to_best(sweep);
    else if (sweep < options_.sweeps)
      strategy_->resume_work(worker_, replica_);
  }
  result_.training_s = worker_.comm().now_s() - start_s_;
  result_.test = evaluator_.score(data::Subset::test);
  result_.times = times_;
  result_.data_wait_s = feed_.waited_s();
  result_.timing_only = !learner_.computes();
  take_down(strategy_->report(worker_));
  if (leads()) result_.parameters_sha256 = learner_.parameters_sha256();
  return result_;
}

void Trainer::check() const {
  const std::size_t splits = source_.partition->workers();
  if (strategy_->share() == dist::Share::block && splits != static_cast<std::size_t>(worker_.size()))
    throw core::ConfigError(
        core::format("the strategy '{}' gives each worker a split of every block: {} workers need {} splits, not {}",
                     options_.strategy, worker_.size(), worker_.size(), splits));
}

void Trainer::explain() {
  take_down(strategy_->explain({worker_.size(), static_cast<double>(source_.samples(data::Subset::train)),
                                static_cast<double>(source_.partition->blocks())}));
  if (output_.progress == nullptr) return;
  if (const std::string text = step_sizes_.describe(); !text.empty() && learner_.computes()) output_.progress->say(text);
  explain_collective();
}

void Trainer::take_down(const dist::Remarks& remarks) {
  result_.strategy.insert(result_.strategy.end(), remarks.numbers.begin(), remarks.numbers.end());
  if (output_.progress == nullptr || !learner_.computes()) return;
  for (const std::string& line : remarks.lines) output_.progress->say(line);
}

void Trainer::explain_collective() {
  if (worker_.size() == 1) return;
  const dist::StrategyOptions& strategy = options_.strategy_options;
  std::size_t length = learner_.model().parameter_count();
  if (exchanges_ && strategy.bucket_bytes > 0) length = std::min(length, strategy.bucket_bytes / sizeof(float));
  const std::string text = comm::make_allreduce(strategy.collective)->explain(worker_.comm(), length);
  if (!text.empty()) output_.progress->say(core::format("collective {}: {}", strategy.collective, text));
}

// Worker 0 makes or reads the initial model and the others get it from there.
void Trainer::start() {
  std::string mistake;
  try {
    check();
    if (leads()) load_initial_model();
  } catch (const core::ConfigError& error) {
    mistake = error.what();
  }
  broadcast_parameters();  // whatever there is: while nobody talks, the simulator works it out at once
  if (const std::string first = comm::first_error(worker_.comm(), mistake); !first.empty()) throw core::ConfigError(first);
}

void Trainer::load_initial_model() {
  if (options_.init.empty()) return learner_.initialise(options_.seed);
  const Checkpoint checkpoint = read_checkpoint(options_.init);
  if (checkpoint.parameters.size() != learner_.parameters().size() || checkpoint.model != options_.model)
    throw core::ConfigError(
        core::format("checkpoint '{}' holds the model '{}', not '{}'", options_.init, checkpoint.model, options_.model));
  learner_.restore(checkpoint.parameters);
}

void Trainer::broadcast_parameters() { comm::broadcast(worker_.comm(), learner_.parameters()); }

// Worker 0 trains alone, the others wait for its model.
void Trainer::warm_start() {
  warming_up_ = true;
  if (leads())
    for (int sweep = 1; sweep <= options_.warm_start_sweeps; ++sweep) train_sweep(-sweep);
  warming_up_ = false;
  broadcast_parameters();
  dist::reset_local_momentum(worker_, replica_);
}

void Trainer::begin_sweep(int sweep) {
  replica_.learning_rate = schedule_->rate();
  strategy_->begin_sweep(worker_, replica_, sweep);
  exchanges_ = strategy_->exchanges_gradients(worker_.size());
}

void Trainer::train_sweep(int sweep) {
  sweep_ = sweep;
  sums_ = {};
  auto order = block_order(options_.seed, sweep, source_.partition->blocks());
  if (options_.max_blocks > 0) order.resize(std::min(order.size(), options_.max_blocks));
  const auto plan_of = [&](std::size_t position) {
    return warming_up_ ? plan_block(*source_.partition, order[position], dist::Share::minibatch, options_.minibatch, 0, 1,
                                    options_.max_steps)
                       : plan_block(*source_.partition, order[position], strategy_->share(), options_.minibatch,
                                    worker_.rank(), worker_.size(), options_.max_steps);
  };
  BlockPlan plan = plan_of(0);
  feed_.prefetch(plan.samples, plan.rows);
  for (block_ = 0; block_ < order.size(); ++block_) {
    await_data();
    BlockPlan following;
    if (block_ + 1 < order.size()) {
      following = plan_of(block_ + 1);
      feed_.prefetch(following.samples, following.rows);
    }
    train_block(plan);
    if (output_.progress != nullptr && !warming_up_)
      output_.progress->advance(source_.partition->block_range(order[block_]).size(),
                                core::format("sweep {}/{} block {}/{}", sweep, options_.sweeps, block_ + 1, order.size()));
    plan = std::move(following);
  }
}

void Trainer::await_data() {
  const Phase data(worker_, core::Activity::data, times_.data_s);
  feed_.advance();
}

void Trainer::train_block(const BlockPlan& plan) {
  const double aggregate_before_s = times_.aggregate_s;
  double block_s = 0;
  {
    const Phase block(worker_, core::Activity::block, block_s);
    train_minibatches(plan);
    if (!warming_up_) synchronise(plan.samples);
  }
  times_.optimise_s += block_s - (times_.aggregate_s - aggregate_before_s);
}

void Trainer::train_minibatches(const BlockPlan& plan) {
  const auto minibatches = [&] {
    for (minibatch_ = 0; minibatch_ < plan.mine.size(); ++minibatch_)
      train_minibatch(plan.mine[minibatch_], plan.together[minibatch_]);
  };
  // Nobody to wait for until the end of the block: then its minibatches are one computation.
  if (exchanging())
    minibatches();
  else
    worker_.compute(expected_work(plan), minibatches);
}

void Trainer::synchronise(std::size_t samples) {
  if (exchanging()) return strategy_->synchronise(worker_, replica_, samples);  // each minibatch was a synchronisation
  const Phase aggregate(worker_, core::Activity::aggregate, times_.aggregate_s);
  strategy_->synchronise(worker_, replica_, samples);
}

void Trainer::train_minibatch(std::size_t mine, std::size_t together) {
  replica_.step =
      exchanging() ? step_sizes_.of(schedule_->rate(), together) : step_sizes_.of_part(schedule_->rate(), mine, together);
  if (exchanging()) return exchange_minibatch(mine);
  take_in(learner_.descend(mine, next_, replica_.step), mine);
}

void Trainer::exchange_minibatch(std::size_t mine) {
  const auto costs = cost_ ? cost_->gradient(stages_, mine) : std::vector<backend::WorkMeter>(stages_.size());
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    worker_.compute(costs[stage], [&] {
      const backend::LossSum part = learner_.gradient(stages_[stage], mine, next_, replica_.step);
      if (stage == 0) take_in(part, mine);
    });
    strategy_->gradient_ready(worker_, replica_, stages_[stage].elements);
  }
  const Phase aggregate(worker_, core::Activity::aggregate, times_.aggregate_s);
  strategy_->step(worker_, replica_);
}

void Trainer::take_in(backend::LossSum loss, std::size_t samples) {
  check_loss(loss.loss);
  sums_.loss.loss += loss.loss;
  sums_.loss.errors += loss.errors;
  sums_.samples += static_cast<double>(samples);
}

backend::WorkMeter Trainer::expected_work(const BlockPlan& plan) {
  backend::WorkMeter work;
  if (!cost_) return work;
  std::size_t repeated = 0;  // minibatches like the first: all but the last, as a rule
  while (repeated < plan.mine.size() && plan.mine[repeated] == plan.mine[0]) ++repeated;
  if (repeated > 0) work += cost_->descend(plan.mine[0]) * repeated;
  for (std::size_t i = repeated; i < plan.mine.size(); ++i) work += cost_->descend(plan.mine[i]);
  return work;
}

void Trainer::check_loss(double loss) const {
  if (std::isfinite(loss)) return;
  throw core::ConfigError(core::format(
      "the loss became {} on worker {} in sweep {}, block {}, minibatch {}: lower the learning rate (a checkpoint holds the "
      "last complete sweep)",
      loss, worker_.rank(), sweep_, block_ + 1, minibatch_ + 1));
}

void Trainer::score_sweep() {
  const Phase validate(worker_, core::Activity::validate, times_.validate_s);
  std::array<double, 3> sums{sums_.loss.loss, static_cast<double>(sums_.loss.errors), sums_.samples};
  comm::sum_in_rank_order(worker_.comm(), sums);
  result_.train = learner_.score(sums[0], sums[1], sums[2]);
  result_.samples += static_cast<std::uint64_t>(sums[2]);
  result_.valid = evaluator_.score(data::Subset::valid);
}

void Trainer::validate(int sweep) {
  score_sweep();
  const bool scored = learner_.computes() && source_.samples(data::Subset::valid) > 0;
  if (scored && !std::isfinite(result_.valid.loss))
    throw core::ConfigError(
        core::format("the validation loss is {} after sweep {}: lower the learning rate (a checkpoint "
                     "holds the sweep before)",
                     result_.valid.loss, sweep));
  if (options_.schedule.newbob_restore && result_.valid.loss < best_score_.loss) remember_best();
}

// Worker 0 keeps the best model for all.
void Trainer::remember_best() {
  best_score_ = result_.valid;
  if (leads()) best_ = learner_.snapshot();
}

void Trainer::go_back_to_best(int sweep) {
  learner_.restore(best_);
  broadcast_parameters();
  dist::reset_local_momentum(worker_, replica_);
  strategy_->start(worker_, replica_);
  result_.valid = best_score_;
  write_model(sweep);
}

void Trainer::write_model(int sweep) {
  if (output_.folder == nullptr || !learner_.computes()) return;
  write_checkpoint(output_.folder->file("checkpoint.h5"),
                   {options_.model, source_.info.content_sha256, static_cast<std::uint64_t>(sweep), learner_.snapshot()});
}

void Trainer::report(int sweep, double rate) {
  const double time_s = worker_.comm().now_s() - start_s_;
  if (output_.folder != nullptr)
    output_.folder->record({{"sweep", sweep},
                            {"samples", result_.samples},
                            {"learning_rate", rate},
                            {"train_loss", result_.train.loss},
                            {"train_error", result_.train.error},
                            {"valid_loss", result_.valid.loss},
                            {"valid_error", result_.valid.error},
                            {"time_s", time_s},
                            {"optimise_s", times_.optimise_s - reported_.optimise_s},
                            {"aggregate_s", times_.aggregate_s - reported_.aggregate_s},
                            {"validate_s", times_.validate_s - reported_.validate_s},
                            {"data_s", times_.data_s - reported_.data_s}});
  reported_ = times_;
  if (output_.progress == nullptr) return;
  const std::string scores =
      learner_.computes()
          ? core::format("train loss {:.4f} error {:6.2f} %   valid loss {:.4f} error {:6.2f} %   ", result_.train.loss,
                         100 * result_.train.error, result_.valid.loss, 100 * result_.valid.error)
          : std::string{};
  output_.progress->say(core::format("sweep {:3}  rate {:<8.4g} {}{:.4g} s", sweep, rate, scores, time_s));
}

}  // namespace

Result train(comm::Worker& worker, const Options& options, const Source& source, const Output& output) {
  Trainer trainer(worker, options, source, output);
  const comm::TaskGuard guard(worker);
  return trainer.run();
}

}  // namespace paragrad::train
