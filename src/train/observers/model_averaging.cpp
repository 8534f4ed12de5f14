#include "train/observers/loop_observer.hpp"
#include "train/training_run.hpp"

namespace paragrad::train {
namespace {

/// Keeps the mean of the model over the blocks, if the options want one.
class ModelAveraging : public LoopObserver {
 public:
  using LoopObserver::LoopObserver;

  void after_block(const EpochLoop::Progress&) override {
    if (run_.parallel()) run_.mean.take_in();
  }
};

}  // namespace

LoopObserverEntry model_averaging_observer() { return {make_observer<ModelAveraging>}; }

}  // namespace paragrad::train
