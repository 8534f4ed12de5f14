#include "core/errors.hpp"
#include "core/format.hpp"
#include "train/observers/loop_observer.hpp"
#include "train/training_run.hpp"

namespace paragrad::train {
namespace {

struct TargetErrorOptions {
  double error = -1;

  void describe(core::OptionList& list) {
    list.number("target-error", error, {.least = -1, .most = 1},
                "stop after the first epoch with a validation error, from 0 to 1, of at most this (below 0: train all "
                "epochs)")
        .off(core::format("{}", error < 0 ? error : -1));
  }
};

/// Ends the training when the validation error is low enough.
class TargetError : public LoopObserver {
 public:
  explicit TargetError(TrainingRun& run)
      : LoopObserver(run), options_(core::read_options<TargetErrorOptions>(run.options.loop_settings)) {}

  void check() const override {
    if (options_.error >= 0) run_.expect_validation("`target-error` needs some");
  }

  void after_epoch() override {
    if (run_.result.valid.error <= options_.error) run_.ending = Ending::reached;
  }

 private:
  TargetErrorOptions options_;
};

}  // namespace

LoopObserverEntry target_error_observer() { return {make_observer<TargetError>, describe_scored<TargetErrorOptions>}; }

}  // namespace paragrad::train
