#include "core/format.hpp"
#include "train/observers/loop_observer.hpp"
#include "train/training_run.hpp"

namespace paragrad::train {
namespace {

/// Sets the next epoch's learning rate by the validation loss. A schedule may also go back to the best model.
class RateScheduling : public LoopObserver {
 public:
  using LoopObserver::LoopObserver;

  void check() const override {
    const TrainingOptions& options = run_.options;
    if (run_.schedule->needs_validation() && options.epochs > 0)
      run_.expect_validation(core::format("`schedule` {} needs some", options.schedule.name));
  }

  void after_epoch() override {
    const bool goes_back = run_.schedule->observe(run_.epoch, run_.result.valid.loss);
    if (goes_back && run_.ending != Ending::reached)
      restart_from_best();
    else if (run_.parallel() && !run_.is_over())
      run_.resume_work();
  }

 private:
  void restart_from_best() {
    run_.go_back_to(run_.least_loss, run_.epoch);
    run_.mean.forget();
    run_.worker.run_kernels([&](backend::KernelQueue& queue) { run_.learner().optimiser().forget(queue); });
    if (run_.parallel()) run_.traffic.without([&] { run_.blocks.start_strategy(); });
  }
};

}  // namespace

LoopObserverEntry rate_scheduling_observer() { return {make_observer<RateScheduling>}; }

}  // namespace paragrad::train
