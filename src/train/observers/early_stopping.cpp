#include <cstdint>
#include <limits>
#include <string>

#include "core/format.hpp"
#include "train/observers/loop_observer.hpp"
#include "train/training_run.hpp"

namespace paragrad::train {
namespace {

struct EarlyStoppingOptions {
  int patience = 0;
  std::string measure = "error";
  double least_gain = 0;

  void describe(core::OptionList& list) {
    list.number("patience", patience, {.least = 0, .most = 1000000},
                "stop after this many epochs in a row without progress on the validation set (0: train all epochs); add "
                "`keep-best` to end with the best model")
        .off("0");
    const auto patient = list.only_when(patience > 0, "needs `patience`", "patience");
    list.choice("patience-measure", measure, {"error", "loss"},
                "what has to decrease: the validation error or the validation loss");
    list.number("patience-gain", least_gain, core::zero_or_more,
                "least progress: the decrease since the last epoch that made progress has to be larger than this");
  }
};

/// Ends a training that makes no progress on the validation set (early stopping; Prechelt, Neural Networks 11, 1998).
class EarlyStopping : public LoopObserver {
 public:
  explicit EarlyStopping(TrainingRun& run)
      : LoopObserver(run), options_(core::read_options<EarlyStoppingOptions>(run.options.loop_settings)) {}

  void check() const override {
    if (options_.patience > 0) run_.expect_validation("`patience` needs some");
  }

  void after_epoch() override {
    if (options_.patience == 0) return;
    const Score& valid = run_.result.valid;
    const double now = options_.measure == "loss" ? valid.loss : valid.error;
    if (now < best_ - options_.least_gain) {
      best_ = now;
      without_progress_ = 0;
      return;
    }
    if (++without_progress_ < static_cast<std::uint64_t>(options_.patience) || run_.is_over()) return;
    run_.ending = Ending::stalled;
    run_.report.say(core::format("stopped after epoch {}: the validation {} has made no progress for {} epoch{}", run_.epoch,
                                 options_.measure, without_progress_, without_progress_ == 1 ? "" : "s"));
  }

  void describe_state(core::StateView& state) override {
    if (options_.patience == 0) return;
    state.add("early_stopping/best", best_, core::Rescale::equal);
    state.add("early_stopping/without_progress", without_progress_, core::Rescale::equal);
  }

 private:
  EarlyStoppingOptions options_;
  double best_ = std::numeric_limits<double>::infinity();
  std::uint64_t without_progress_ = 0;  // epochs
};

}  // namespace

LoopObserverEntry early_stopping_observer() { return {make_observer<EarlyStopping>, describe_scored<EarlyStoppingOptions>}; }

}  // namespace paragrad::train
