#include "train/observers/loop_observer.hpp"

namespace paragrad::train {

LoopObservers observers_of(TrainingRun& run) {
  LoopObservers all;
  for (const auto make : {make_warm_start, make_minibatch_tuning, make_model_averaging, make_validation,
                          make_rate_scheduling, make_state_saving})
    all.push_back(make(run));
  return all;
}

}  // namespace paragrad::train
