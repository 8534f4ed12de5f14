#pragma once

#include <memory>
#include <vector>

#include "core/options.hpp"
#include "core/state_view.hpp"
#include "train/epoch_loop.hpp"
#include "train/training_options.hpp"

namespace paragrad::train {

struct TrainingRun;

/// Watches the loop of a training. All workers have the same observers, and each call is made on all of them (after_block,
/// while worker 0 trains alone, only there).
class LoopObserver {
 public:
  explicit LoopObserver(TrainingRun& run) : run_(run) {}
  virtual ~LoopObserver() = default;

  /// Throws ConfigError if the data lack what the options need.
  virtual void check() const {}

  virtual void before_training() {}
  virtual void before_epoch() {}
  virtual void after_block(const EpochLoop::Progress& /*at*/) {}
  virtual void after_epoch() {}
  virtual void after_training() {}

  /// Adds the state that a resumed training restores, named "<observer>/<part>".
  virtual void describe_state(core::StateView& /*state*/) {}

 protected:
  TrainingRun& run_;
};

using LoopObservers = std::vector<std::unique_ptr<LoopObserver>>;

struct LoopObserverEntry {
  std::unique_ptr<LoopObserver> (*make)(TrainingRun& run);

  /// Describes its own options, whose values are in `loop_settings`. Null: it has none.
  void (*describe)(core::OptionList& list, TrainingOptions& training) = nullptr;
};

/// All observers, in the order in which they are called.
std::vector<LoopObserverEntry> loop_observers();

LoopObservers observers_of(TrainingRun& run);

template <class Observer>
std::unique_ptr<LoopObserver> make_observer(TrainingRun& run) {
  return std::make_unique<Observer>(run);
}

/// LoopObserverEntry::describe for options about the validation of the network.
template <class Options>
void describe_scored(core::OptionList& list, TrainingOptions& training) {
  const auto trained = list.only_when(training.epochs > 0, network_only);
  const auto scored = list.only_when(training.computes, unscored);
  list.part<Options>(training.loop_settings);
}

// One file each.
#define OBSERVER(name) LoopObserverEntry name##_observer();
#include "train/observers/catalogue.def"
#undef OBSERVER

}  // namespace paragrad::train
