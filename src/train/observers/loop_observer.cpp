#include "train/observers/loop_observer.hpp"

#include <algorithm>
#include <string>

#include "core/names.hpp"
#include "train/training_run.hpp"

namespace paragrad::train {

std::vector<LoopObserverEntry> loop_observers() {
  return {
#define OBSERVER(name) name##_observer(),
#include "train/observers/catalogue.def"
#undef OBSERVER
  };
}

namespace {

/// Throws ConfigError for a setting that no observer has.
void check_settings(TrainingOptions training) {
  core::OptionList list;
  for (const LoopObserverEntry& entry : loop_observers())
    if (entry.describe != nullptr) entry.describe(list, training);
  std::vector<std::string> known;
  for (const core::OptionInfo& option : list.infos()) known.push_back(option.name);
  for (const auto& [name, _] : training.loop_settings)
    if (std::ranges::find(known, name) == known.end()) throw core::unknown_name("option", name, known);
}

}  // namespace

LoopObservers observers_of(TrainingRun& run) {
  check_settings(run.options);
  LoopObservers all;
  for (const LoopObserverEntry& entry : loop_observers()) all.push_back(entry.make(run));
  return all;
}

}  // namespace paragrad::train
