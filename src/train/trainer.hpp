#pragma once

#include <span>

#include "train/training_run.hpp"

namespace paragrad::train {

/// Runs one training from its first epoch to its last: the loop, and what comes before and after it. Everything else
/// observes the loop.
class Trainer {
 public:
  /// worker: in the group that the strategy synchronises. everybody: among all workers of the run. initial: see train().
  Trainer(comm::Worker& worker, comm::Worker& everybody, const TrainingOptions& options, const WorkerInput& input,
          const MakeLearner& make_learner, const Output& output, std::span<const float> initial)
      : run_(worker, everybody, options, input, make_learner, output), initial_(initial) {}
  Result run();

 private:
  Result run_to_the_end();
  void start();
  void check();
  void load_initial_model();
  void explain();
  void train_epoch();
  Result finish();
  void save_what_is_there();

  TrainingRun run_;
  std::span<const float> initial_;
};

}  // namespace paragrad::train
