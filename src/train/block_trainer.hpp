#pragma once

#include <memory>
#include <vector>

#include "comm/worker.hpp"
#include "strategies/strategy.hpp"
#include "train/balance.hpp"
#include "train/input/training_data.hpp"
#include "train/learners/learner_cost.hpp"
#include "train/learners/loss_ledger.hpp"
#include "train/plan.hpp"
#include "train/step_sizes.hpp"
#include "train/time_breakdown.hpp"

namespace paragrad::train {

/// Sums over samples.
struct Sums {
  double loss = 0;
  double errors = 0;
  double samples = 0;

  void describe_state(core::StateView& state);
};

/// Who trains, and how.
struct EpochSetting {
  int epoch = 1;
  double rate = 0;            ///< the schedule's
  std::size_t minibatch = 0;  ///< see plan_block
  bool alone = false;         ///< worker 0 trains as if there were nobody else, the others do nothing
  bool trial = false;         ///< a loss that is no number is not an error but a result
};

/// One worker's replica and its part in the strategy: trains a block together with the peers, who make the same calls.
class BlockTrainer {
 public:
  /// largest_minibatch: of all epochs, for one worker. times: where the seconds are added.
  BlockTrainer(comm::Worker& worker, const TrainingOptions& options, const TrainingData& source,
               const MakeLearner& make_learner, std::size_t largest_minibatch, TimeBreakdown& times);

  Learner& learner() { return *learner_; }
  LearnerCost* cost() { return cost_.get(); }
  strategies::Strategy& strategy() { return *strategy_; }
  strategies::Replica& replica() { return replica_; }
  const StepSizes& step_sizes() const { return step_sizes_; }

  void start_strategy() { strategy_->start(worker_, replica_); }
  void begin_epoch(const EpochSetting& setting);

  /// This worker's part of a block: of the one that is trained next or, ahead, of the one behind it.
  BlockPlan plan(std::size_t block, bool ahead) const;

  /// Share::epoch: whether splits are taken one by one; the number of the next; and what there is to do.
  bool takes_splits() const { return !setting_.alone && strategy_->share() == strategies::Share::epoch; }
  std::size_t take_split() { return strategy_->take(worker_); }
  BlockPlan plan_split(std::size_t block, std::size_t split) const;

  /// All minibatches of a block and the agreement at its end. next hands out the samples in the order of the plan; position:
  /// of the block in the epoch, for error messages. Adds to `sums`. Throws ConfigError when the loss is no longer finite.
  void train(const BlockPlan& plan, std::size_t position, const NextBatch& next, Sums& sums);

  void describe_state(core::StateView& state) { balance_.describe_state(state); }

  bool idle() const { return setting_.alone && worker_.rank() != 0; }

 private:
  bool exchanging() const { return !setting_.alone && strategy_->exchanges_gradients(worker_.size()); }
  void train_minibatches(const BlockPlan& plan, const NextBatch& next, Sums& sums);
  void train_minibatch(std::size_t mine, const NextBatch& next, Sums& sums);
  void exchange_minibatch(std::size_t mine, const NextBatch& next, Sums& sums);
  void synchronise(std::size_t samples);
  void settle_losses(Sums& sums);
  void take_in(const backend::LossSum& loss, std::size_t scored, std::size_t minibatch, Sums& sums) const;
  backend::WorkMeter expected_work(const BlockPlan& plan);

  comm::Worker& worker_;
  const TrainingOptions& options_;
  const TrainingData& source_;
  TimeBreakdown& times_;
  std::unique_ptr<strategies::Strategy> strategy_;
  StepSizes step_sizes_;
  std::unique_ptr<Learner> learner_;
  std::vector<Learner::Stage> stages_;  // of an exchanged gradient
  std::vector<core::Range> stage_elements_;
  std::unique_ptr<LearnerCost> cost_;  // null where nothing is computed: then the work is counted as it comes
  strategies::Replica replica_;
  LossLedger losses_;

  Balance balance_;
  EpochSetting setting_;
  std::size_t position_ = 0;   // of the block
  std::size_t minibatch_ = 0;  // in the block
};

}  // namespace paragrad::train
