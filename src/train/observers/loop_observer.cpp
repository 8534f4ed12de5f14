#include "train/observers/loop_observer.hpp"

namespace paragrad::train {

std::vector<LoopObserverEntry> loop_observers() {
  return {
#define OBSERVER(name) name##_observer(),
#include "train/observers/catalogue.def"
#undef OBSERVER
  };
}

LoopObservers observers_of(TrainingRun& run) {
  LoopObservers all;
  for (const LoopObserverEntry& entry : loop_observers()) all.push_back(entry.make(run));
  return all;
}

}  // namespace paragrad::train
