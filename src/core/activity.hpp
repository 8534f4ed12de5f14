#pragma once

#include <array>
#include <cstddef>

namespace paragrad::core {

/// What a worker spends its time on. Spans may nest.
enum class Activity : std::size_t {
  block,      ///< the minibatches of a block and the aggregation at its end
  compute,    ///< kernels
  wait,       ///< for a message to arrive or leave, or for communication tasks
  reduce,     ///< the additions of a reduction
  data,       ///< waiting for samples
  aggregate,  ///< synchronisation with the other workers
  validate,
  task  ///< communication that runs concurrently with the worker
};

inline constexpr std::array activity_names{"block",     "compute",   "wait",     "reduce",
                                           "data wait", "aggregate", "validate", "communication task"};

/// Receives the activities of one thread of control as they happen: begin and end in pairs, properly nested.
class ActivityRecorder {
 public:
  virtual ~ActivityRecorder() = default;
  virtual void begin(Activity activity, double now_s) = 0;
  virtual void end(double now_s) = 0;
};

/// Records an activity from construction to the end of the scope. clock: must provide observed_s().
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
