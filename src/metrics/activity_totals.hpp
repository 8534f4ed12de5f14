#pragma once

#include <array>
#include <cstddef>
#include <exception>
#include <functional>
#include <utility>
#include <vector>

#include "core/activity.hpp"

namespace paragrad::metrics {

/// A worker's time between two synchronisations, by activity.
struct PeriodTimes {
  double compute_s = 0;
  double wait_s = 0;         ///< for messages, communication tasks, samples
  double communicate_s = 0;  ///< the rest of synchronisation: additions, copies, calls
  double other_s = 0;

  double total_s() const { return compute_s + wait_s + communicate_s + other_s; }
};

/// Adds up activities and reports, every `every` synchronisations, how the time since the last report was spent. Time
/// outside blocks (validation, checkpoints) does not count. Forwards all events to `next`, if there is one.
class ActivityTotals : public core::ActivityRecorder {
 public:
  using OnPeriod = std::function<void(std::size_t synchronisation, const PeriodTimes&)>;

  ActivityTotals(std::size_t every, OnPeriod on_period, core::ActivityRecorder* next)
      : every_(every), on_period_(std::move(on_period)), next_(next) {}

  /// Rethrows exceptions from on_period.
  void begin(core::Activity activity, double now_s) override {
    if (const std::exception_ptr error = std::exchange(error_, nullptr)) std::rethrow_exception(error);
    charge(now_s);
    open_.push_back(activity);
    if (next_ != nullptr) next_->begin(activity, now_s);
  }

  void end(double now_s) override {
    charge(now_s);
    const core::Activity activity = open_.back();
    open_.pop_back();
    if (next_ != nullptr) next_->end(now_s);
    if (activity == core::Activity::aggregate && ++synchronisations_ % every_ == 0) tell();
  }

 private:
  using A = core::Activity;

  /// Must not throw: spans end in destructors, possibly during stack unwinding.
  void tell() {
    if (std::uncaught_exceptions() > 0) return;
    try {
      on_period_(synchronisations_, take());
    } catch (const std::exception&) {
      error_ = std::current_exception();
    }
  }

  double& of(A activity) { return sums_[static_cast<std::size_t>(activity)]; }

  /// Charges the time since the last change to the innermost activity.
  void charge(double now_s) {
    if (!open_.empty() && (open_[0] == A::block || open_[0] == A::data)) of(open_.back()) += now_s - changed_s_;
    changed_s_ = now_s;
  }

  PeriodTimes take() {
    const PeriodTimes times{of(A::compute), of(A::wait) + of(A::data), of(A::reduce) + of(A::aggregate), of(A::block)};
    sums_ = {};
    return times;
  }

  std::size_t every_;
  OnPeriod on_period_;
  core::ActivityRecorder* next_;
  std::vector<A> open_;
  double changed_s_ = 0;
  std::array<double, core::activity_names.size()> sums_{};
  std::size_t synchronisations_ = 0;
  std::exception_ptr error_;
};

}  // namespace paragrad::metrics
