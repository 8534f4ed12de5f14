#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "comm/operations.hpp"
#include "comm/worker.hpp"
#include "core/state_view.hpp"
#include "optim/schedule.hpp"
#include "train/block_trainer.hpp"
#include "train/epoch_loop.hpp"
#include "train/evaluator.hpp"
#include "train/input/worker_input.hpp"
#include "train/model_mean.hpp"
#include "train/observers/loop_observer.hpp"
#include "train/output.hpp"
#include "train/report.hpp"
#include "train/result.hpp"
#include "train/state/best_model.hpp"
#include "train/traffic_account.hpp"
#include "train/training_options.hpp"

namespace paragrad::train {

/// Why a training ends before its last epoch.
enum class Ending {
  open,     ///< there is no reason yet
  reached,  ///< the target error is met
  stalled   ///< no progress on the validation set
};

/// One training on one worker: its parts, how far it has got, and what several observers of its loop do. The other workers
/// make the same calls.
struct TrainingRun {
  TrainingRun(comm::Worker& worker_, comm::Worker& everybody_, const TrainingOptions& options_, const WorkerInput& input,
              const MakeLearner& make_learner, const Output& output_);

  comm::Worker& worker;     ///< in the group that the strategy synchronises
  comm::Worker& everybody;  ///< among all workers of the run
  const TrainingOptions& options;
  const TrainingData& source;
  const Output& output;

  Report report;
  TimeBreakdown times;
  TrafficAccount traffic;
  BlockTrainer blocks;
  ModelMean mean;
  EpochLoop loop;
  std::unique_ptr<optim::Schedule> schedule;
  Evaluator evaluator;
  comm::Broadcast broadcast;  ///< of models and the like

  int epoch = 1;
  std::size_t block = 0;  ///< of the epoch, the next to be trained
  std::size_t minibatch;  ///< of the epoch
  Ending ending = Ending::open;
  bool strategy_started = false;
  bool shows_model = false;  ///< contributes its model, or its part of it, to worker 0's folder, if there is one
  double start_s = 0;
  Sums sums;                         ///< of the epoch
  std::uint64_t samples_before = 0;  ///< the epoch, processed by all workers
  Result result;
  BestModel least_loss;   ///< the schedule may go back to it
  BestModel least_error;  ///< the training may end with it

  Learner& learner() { return blocks.learner(); }
  bool leads() const { return worker.rank() == 0; }
  bool parallel() const { return epoch >= options.parallel_start_epoch; }  ///< the epoch is trained by all workers
  strategies::ServedStrategy* served() { return strategy_started ? blocks.served() : nullptr; }
  double elapsed_s() const { return worker.comm().now_s() - start_s; }
  bool is_over() const { return ending != Ending::open || epoch == options.epochs; }  ///< after the epoch just validated
  EpochSetting setting() const {
    return {.epoch = epoch, .schedule = schedule.get(), .minibatch = minibatch, .alone = !parallel()};
  }

  void start_strategy();
  void broadcast_model();  ///< worker 0's

  /// Makes the workers' replicas those that are scored and saved; and again those that are trained.
  void show_model();
  void resume_work();

  /// Summarises the workers' traffic. Call traffic.post() and a sum over all workers before.
  TrafficAccount::Summary traffic_of_all();

  /// Sums values over the workers; see AddUp.
  bool add_up(std::span<double> values);

  /// Throws ConfigError if there are no validation samples. why: what follows in the message.
  void expect_validation(std::string_view why) const;

  /// Throws ConfigError unless all weights are finite numbers. They may come from the host, as no device counts the check.
  void expect_finite(std::span<const float> model) const;

  /// The same for what the optimiser keeps: an infinite mean of squares stops its parameter for good.
  void expect_finite_optimiser();

  /// Writes the folder's checkpoint after `epochs` complete epochs. Throws ConfigError if a weight is not finite.
  void write_model(int epochs);

  /// Whether the folder's checkpoint is the best model so far, instead of the latest one.
  bool keeps_best() const { return options.keep_best && output.last_phase; }

  /// The same with an earlier model, which becomes the present one.
  void go_back_to(const BestModel& best, int epochs);

  /// The state that training changes.
  core::StateView describe();

  LoopObservers observers;  ///< the last member, as they refer to the others
};

/// Adds the state of one part, which describes itself, to the whole.
void add_state(core::StateView& all, const std::string& owner, auto& part) {
  core::StateView own;
  part.describe_state(own);
  all.add(owner, std::move(own));
}

}  // namespace paragrad::train
