#pragma once

#include <memory>
#include <span>
#include <vector>

#include "comm/allreduce.hpp"
#include "comm/broadcast.hpp"
#include "comm/worker.hpp"
#include "core/state_view.hpp"
#include "optim/schedule.hpp"
#include "train/block_trainer.hpp"
#include "train/epoch_loop.hpp"
#include "train/evaluator.hpp"
#include "train/input/worker_input.hpp"
#include "train/output.hpp"
#include "train/report.hpp"
#include "train/result.hpp"
#include "train/state/best_model.hpp"
#include "train/state/state_store.hpp"
#include "train/training_options.hpp"

namespace paragrad::train {

/// One training from its first epoch to its last, on one worker: the initial model, the epochs, their scores, and the state
/// from which an interrupted run resumes.
class Trainer {
 public:
  /// worker: in the group that the strategy synchronises. everybody: among all workers of the run.
  Trainer(comm::Worker& worker, comm::Worker& everybody, const TrainingOptions& options, const WorkerInput& input,
          const MakeLearner& make_learner, const Output& output, std::span<const float> initial);
  Result run();

 private:
  Result run_to_the_end();
  void save_what_is_there();
  void explain();
  void check();
  void start();
  void load_initial_model();
  void broadcast_model();
  void show_model();
  void average_buffers();
  void become_parallel();
  void tune_minibatch();
  double try_minibatch(std::size_t size);
  void train_epoch();
  bool validates_after(const EpochLoop::Progress& at) const;
  void validate_within(const EpochLoop::Progress& at);
  void finish_epoch();
  void score_epoch();
  bool add_up(std::span<double> values);
  void validate();
  void go_back_to(const BestModel& best, int epochs);
  void restart_from_best();
  void write_model(int epochs);
  core::StateView describe_training();
  core::StateView describe_run();
  void save_state();
  void resume();
  EpochSetting setting() const;
  Learner& learner() { return blocks_.learner(); }
  double elapsed_s() const { return worker_.comm().now_s() - start_s_; }
  bool leads() const { return worker_.rank() == 0; }
  strategies::ServedStrategy* served() { return strategy_started_ ? blocks_.served() : nullptr; }
  bool reached_target() const { return result_.valid.error <= options_.target_error; }
  bool parallel() const { return epoch_ >= options_.parallel_start_epoch; }

  comm::Worker& worker_;
  comm::Worker& everybody_;
  const TrainingOptions& options_;
  const TrainingData& source_;
  const Output& output_;
  Report report_;
  std::span<const float> initial_;
  StateStore store_;
  TimeBreakdown times_;
  TrafficAccount traffic_;
  TrafficAccount::Summary sent_;  // when it was last summarised
  std::unique_ptr<optim::Schedule> schedule_;
  BlockTrainer blocks_;
  EpochLoop walk_;
  Evaluator evaluator_;

  int epoch_ = 1;
  std::size_t block_ = 0;  // of the epoch, the next to be trained
  std::size_t minibatch_;  // of the epoch
  bool strategy_started_ = false;
  bool shows_model_ = false;  // contributes its model, or its part of it, to worker 0's folder, if there is one
  Sums sums_;
  Result result_;
  double start_s_ = 0;
  std::uint64_t samples_before_ = 0;  // the epoch, processed by all workers
  BestModel least_loss_;              // the schedule may go back to it
  BestModel least_error_;             // the training may end with it
};

}  // namespace paragrad::train
