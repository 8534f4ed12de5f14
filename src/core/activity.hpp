#pragma once

#include <array>
#include <cstddef>

namespace paragrad::core {

/// What a worker spends its time on. One kind of span may lie within another.
enum class Activity : std::size_t {
  block,      ///< the minibatches of a block and the agreement at its end
  compute,    ///< kernels
  wait,       ///< for a message to come or go, or for communication tasks
  reduce,     ///< the additions of a reduction
  data,       ///< waiting for samples
  aggregate,  ///< agreeing with the others
  validate,
  task  ///< communication beside the worker
};

inline constexpr std::array activity_names{"block",     "compute",   "wait",     "reduce",
                                           "data wait", "aggregate", "validate", "communication task"};

/// Told what one thread of control does, as it happens: begin and end in pairs, properly nested.
class ActivityRecorder {
 public:
  virtual ~ActivityRecorder() = default;
  virtual void begin(Activity activity, double now_s) = 0;
  virtual void end(double now_s) = 0;
};

/// From here to the end of the scope. clock: has observed_s().
template <class Clock>
class ActivitySpan {
 public:
  ActivitySpan(ActivityRecorder& recorder, Activity activity, Clock& clock) : recorder_(recorder), clock_(clock) {
    recorder_.begin(activity, clock_.observed_s());
  }
  ~ActivitySpan() { recorder_.end(clock_.observed_s()); }
  ActivitySpan(const ActivitySpan&) = delete;
  ActivitySpan& operator=(const ActivitySpan&) = delete;

 private:
  ActivityRecorder& recorder_;
  Clock& clock_;
};

}  // namespace paragrad::core
