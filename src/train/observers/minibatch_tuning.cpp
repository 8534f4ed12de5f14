#include <array>

#include "comm/allreduce.hpp"
#include "core/format.hpp"
#include "train/minibatch_search.hpp"
#include "train/observers/loop_observer.hpp"
#include "train/state/saved_state.hpp"
#include "train/training_run.hpp"

namespace paragrad::train {
namespace {

/// Searches for the largest minibatch that does no harm at the beginning of some epochs, see search_minibatch().
class MinibatchTuning : public LoopObserver {
 public:
  using LoopObserver::LoopObserver;

  void before_epoch() override {
    const MinibatchSearchOptions& search = run_.options.minibatch_search;
    if (run_.block > 0 || !search_before(search, run_.epoch)) return;
    const auto sizes = sizes_to_try(search, run_.options.minibatch, run_.minibatch);
    run_.minibatch = search_minibatch(search, sizes, [&](std::size_t size) { return loss_with(size); });
    run_.report.say(
        core::format("epoch {:3}  minibatch {} (tried {} to {})", run_.epoch, run_.minibatch, sizes.front(), sizes.back()));
  }

 private:
  // Returns the loss per sample at the beginning of the epoch, and restores the state afterwards.
  double loss_with(std::size_t size) {
    const SavedState before(run_.describe(), run_.worker.device());
    const std::size_t samples = run_.options.minibatch_search.samples;
    EpochSetting setting = run_.setting();
    setting.minibatch = size;
    setting.trial = true;
    Sums sums;
    run_.loop.run(setting, {.samples = samples > 0 ? samples : 500 * run_.options.minibatch}, sums, [](const auto&) {});
    if (run_.strategy_started) run_.blocks.strategy().show_model(run_.worker, run_.blocks.replica());
    std::array<double, 2> together{sums.loss, sums.samples};
    comm::sum_in_rank_order(run_.worker.comm(), together);
    const TimeBreakdown spent = run_.times;
    before.restore(run_.describe(), run_.worker.device());
    run_.times = spent;
    return together[0] / together[1];
  }
};

}  // namespace

LoopObserverEntry minibatch_tuning_observer() { return {make_observer<MinibatchTuning>}; }

}  // namespace paragrad::train
