#pragma once

#include <memory>
#include <span>
#include <vector>

#include "comm/worker.hpp"
#include "optim/schedule.hpp"
#include "strategies/strategy.hpp"
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

/// How the workers train an epoch.
struct EpochSetting {
  int epoch = 1;
  const optim::Schedule* schedule = nullptr;
  std::size_t minibatch = 0;  ///< see plan_block
  bool alone = false;         ///< worker 0 trains as a single worker, the others do nothing
  bool trial = false;         ///< a NaN or infinite loss is a result, not an error
};

/// One worker's replica and its side of the strategy: trains a block together with the peers, which make the same calls.
class BlockTrainer {
 public:
  /// largest_minibatch: per worker, over all epochs. times: accumulates the seconds.
  BlockTrainer(comm::Worker& worker, const TrainingOptions& options, const TrainingData& source,
               const MakeLearner& make_learner, std::size_t largest_minibatch, TimeBreakdown& times);
  ~BlockTrainer() { strategy_.reset(); }  // it may take the replica's memory, which somebody still uses

  Learner& learner() { return *learner_; }
  LearnerCost* cost() { return cost_.get(); }
  strategies::Strategy& strategy() { return *strategy_; }
  strategies::ServedStrategy* served() { return served_; }  ///< the strategy, if it has servers
  strategies::Replica& replica() { return replica_; }
  const StepSizes& step_sizes() const { return step_sizes_; }

  /// Of the optimiser's state: which part of a minibatch its sums of gradients are taken over.
  void describe_state(core::StateView& state) { state.add("share", share_, core::Rescale::mean); }

  void start_strategy() { strategy_->start(worker_, replica_); }
  void begin_epoch(const EpochSetting& setting);

  /// Trains all minibatches of a block and synchronises at its end. samples: a stream whose current list is the plan's.
  /// position: of the block among the epoch's `blocks`. Adds to `sums`. Throws ConfigError if the loss is not finite.
  /// Returns the seconds it took, except those for synchronising.
  double train(const BlockPlan& plan, std::size_t position, std::size_t blocks, data::SampleStream& samples, Sums& sums);

 private:
  bool exchanges() const { return exchange_ != nullptr && exchange_->exchanges(worker_.size()); }
  bool exchanging() const { return !setting_.alone && exchanges(); }
  void train_minibatches(const BlockPlan& plan, data::SampleStream& samples, Sums& sums);
  void train_rounds(const BlockPlan& plan, data::SampleStream& samples, Sums& sums);
  // Trains the block's minibatches from minibatch_ up to `end`.
  void go_on(const BlockPlan& plan, std::size_t end, data::SampleStream& samples, Sums& sums);
  // Not inlined: workers wait in exchange_minibatch, and how deep that is decides how many can be emulated.
  [[gnu::noinline]] void convert_state(double share);
  [[gnu::noinline]] void descend_minibatch(std::size_t mine, data::SampleStream& samples, Sums& sums);
  void exchange_minibatch(std::size_t mine, data::SampleStream& samples, Sums& sums);
  void synchronise(std::size_t samples);
  void settle_losses(Sums& sums);
  void take_in(const backend::LossSum& loss, std::size_t scored, std::size_t minibatch, Sums& sums) const;
  backend::WorkMeter expected_work(std::span<const std::size_t> minibatches);

  comm::Worker& worker_;
  const TrainingOptions& options_;
  const TrainingData& source_;
  TimeBreakdown& times_;
  std::unique_ptr<strategies::Strategy> strategy_;
  strategies::ExchangingStrategy* exchange_;  // the same, if it exchanges gradients; or else null
  strategies::ServedStrategy* served_;        // likewise, if it has servers
  strategies::MeetingStrategy* meeting_;      // likewise, if it meets within a block
  StepSizes step_sizes_;
  std::unique_ptr<Learner> learner_;
  std::vector<Learner::Stage> stages_;  // in which an exchanged gradient is computed
  std::vector<core::Range> stage_elements_;
  std::unique_ptr<LearnerCost> cost_;  // null if nothing is computed: then work is counted as it is done
  strategies::Replica replica_;
  LossLedger losses_;

  EpochSetting setting_;
  std::size_t position_ = 0;   // of the block
  std::size_t blocks_ = 0;     // of the epoch
  std::size_t minibatch_ = 0;  // in the block
  double share_ = 1;           // see describe_state
};

}  // namespace paragrad::train
