#pragma once

#include "comm/worker.hpp"
#include "core/state_view.hpp"

namespace paragrad::train {

/// Seconds of one worker (wall-clock or simulated) by activity, as in Table 4 of the BMUF slides.
struct TimeBreakdown {
  double optimise_s = 0;   ///< minibatches
  double aggregate_s = 0;  ///< synchronising with the others, including waiting for them
  double validate_s = 0;
  double data_s = 0;  ///< waiting for samples between blocks

  TimeBreakdown& operator-=(const TimeBreakdown& other) {
    optimise_s -= other.optimise_s, aggregate_s -= other.aggregate_s;
    validate_s -= other.validate_s, data_s -= other.data_s;
    return *this;
  }

  /// The share of training in which computing did not hide communication; 0 if nothing was trained.
  double exposed() const {
    const double training_s = optimise_s + aggregate_s + data_s;
    return training_s > 0 ? aggregate_s / training_s : 0;
  }

  void describe_state(core::StateView& state) {
    state.add("optimise_s", optimise_s, core::Rescale::mean);
    state.add("aggregate_s", aggregate_s, core::Rescale::mean);
    state.add("validate_s", validate_s, core::Rescale::mean);
    state.add("data_s", data_s, core::Rescale::mean);
  }
};

/// Measures the time until the end of the scope, adds it to a sum and reports it to the worker's recorder, if there is one.
class ScopedTimer {
 public:
  ScopedTimer(comm::Worker& worker, core::Activity activity, double& sum_s)
      : worker_(worker), sum_s_(sum_s), begin_s_(worker.comm().now_s()) {
    if (worker_.recorder() != nullptr) worker_.recorder()->begin(activity, begin_s_);
  }
  ~ScopedTimer() {
    const double end_s = worker_.comm().now_s();
    sum_s_ += end_s - begin_s_;
    if (worker_.recorder() != nullptr) worker_.recorder()->end(end_s);
  }
  ScopedTimer(const ScopedTimer&) = delete;
  ScopedTimer& operator=(const ScopedTimer&) = delete;

 private:
  comm::Worker& worker_;
  double& sum_s_;
  double begin_s_;
};

}  // namespace paragrad::train
