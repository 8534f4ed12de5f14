#pragma once

#include <memory>
#include <span>
#include <vector>

#include "comm/allreduce.hpp"
#include "comm/broadcast.hpp"
#include "comm/worker.hpp"
#include "core/state.hpp"
#include "optim/schedule.hpp"
#include "train/best_model.hpp"
#include "train/block_trainer.hpp"
#include "train/evaluator.hpp"
#include "train/options.hpp"
#include "train/output.hpp"
#include "train/report.hpp"
#include "train/result.hpp"
#include "train/source.hpp"
#include "train/state_store.hpp"
#include "train/sweep_walk.hpp"

namespace paragrad::train {

/// One training from its first sweep to its last, on one worker: the initial model, the sweeps, their scores, the state that
/// an interrupted run goes on from.
class Trainer {
 public:
  /// worker: among those it agrees with. everybody: among all of the run.
  Trainer(comm::Worker& worker, comm::Worker& everybody, const Options& options, const Source& source,
          const MakeLearner& make_learner, const Output& output, std::span<const float> initial);
  Result run();

 private:
  Result run_to_the_end();
  void save_what_is_there();
  void explain();
  void check();
  void start();
  void load_initial_model();
  void broadcast_parameters() { comm::broadcast(worker_.comm(), learner().parameters()); }
  void become_parallel();
  void tune_minibatch();
  double try_minibatch(std::size_t size);
  void train_sweep();
  bool validates_after(const SweepWalk::Progress& at) const;
  void validate_within(const SweepWalk::Progress& at);
  void finish_sweep();
  void score_sweep();
  bool add_up(std::span<double> values);
  void validate();
  void go_back_to(const BestModel& best, int sweeps);
  void restart_from_best();
  void write_model(int sweeps);
  core::State describe_training();
  core::State describe_run();
  void save_state();
  void resume();
  SweepSetting setting() const;
  Learner& learner() { return blocks_.learner(); }
  double elapsed_s() const { return worker_.comm().now_s() - start_s_; }
  bool leads() const { return worker_.rank() == 0; }
  bool reached_target() const { return result_.valid.error <= options_.target_error; }
  bool parallel() const { return sweep_ >= options_.parallel_start_sweep; }

  comm::Worker& worker_;
  comm::Worker& everybody_;
  const Options& options_;
  const Source& source_;
  const Output& output_;
  Report report_;
  std::span<const float> initial_;
  StateStore store_;
  PhaseTimes times_;
  std::unique_ptr<optim::Schedule> schedule_;
  BlockTrainer blocks_;
  SweepWalk walk_;
  Evaluator evaluator_;

  int sweep_ = 1;
  std::size_t block_ = 0;  // of the sweep, the next to be trained
  std::size_t minibatch_;  // of the sweep
  bool strategy_started_ = false;
  bool shows_model_ = false;  // to worker 0's folder, if there is one: its own, or its part of it
  Sums sums_;
  Result result_;
  double start_s_ = 0;
  std::uint64_t samples_before_ = 0;  // the sweep, processed by all workers
  BestModel least_loss_;              // that the schedule may go back to
  BestModel least_error_;             // that the training may end with
};

}  // namespace paragrad::train
