#include "comm/allreduce.hpp"
#include "train/observers/loop_observer.hpp"
#include "train/training_run.hpp"

namespace paragrad::train {
namespace {

/// Until `parallel-start-epoch` worker 0 trains alone. Then the others get its optimiser state, as if they had trained too,
/// and the strategy starts; its servers, if it has any, get that state as well.
class WarmStart : public LoopObserver {
 public:
  using LoopObserver::LoopObserver;

  void before_epoch() override {
    if (!run_.parallel() || run_.strategy_started) return;
    core::StateView state;
    run_.learner().optimiser().describe_state(state);
    for (const auto& array : state.arrays) run_.broadcast(run_.worker.comm(), array.values);
    for (const auto& number : state.numbers) {
      double value = run_.leads() ? number.get() : 0;
      comm::sum_in_rank_order(run_.worker.comm(), {&value, 1});
      number.set(value);
    }
    run_.start_strategy();
    if (auto* const strategy = run_.served())
      run_.traffic.without([&] { strategy->hand_over(run_.worker, run_.blocks.replica()); });
  }

  void after_epoch() override {
    if (!run_.parallel()) run_.broadcast_model();
  }
};

}  // namespace

LoopObserverEntry warm_start_observer() { return {make_observer<WarmStart>}; }

}  // namespace paragrad::train
