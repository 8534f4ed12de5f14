#pragma once

#include <memory>
#include <vector>

#include "train/epoch_loop.hpp"

namespace paragrad::train {

struct TrainingRun;

/// Watches the loop of a training. All workers have the same observers, and each call is made on all of them (after_block,
/// while worker 0 trains alone, only there).
class LoopObserver {
 public:
  explicit LoopObserver(TrainingRun& run) : run_(run) {}
  virtual ~LoopObserver() = default;

  virtual void before_training() {}
  virtual void before_epoch() {}
  virtual void after_block(const EpochLoop::Progress& /*at*/) {}
  virtual void after_epoch() {}
  virtual void after_training() {}

 protected:
  TrainingRun& run_;
};

using LoopObservers = std::vector<std::unique_ptr<LoopObserver>>;

/// The observers of a training, in the order in which they are called.
LoopObservers observers_of(TrainingRun& run);

// One file each.
std::unique_ptr<LoopObserver> make_warm_start(TrainingRun& run);
std::unique_ptr<LoopObserver> make_minibatch_tuning(TrainingRun& run);
std::unique_ptr<LoopObserver> make_model_averaging(TrainingRun& run);
std::unique_ptr<LoopObserver> make_validation(TrainingRun& run);
std::unique_ptr<LoopObserver> make_rate_scheduling(TrainingRun& run);
std::unique_ptr<LoopObserver> make_state_saving(TrainingRun& run);

}  // namespace paragrad::train
