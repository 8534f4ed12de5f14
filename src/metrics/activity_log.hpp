#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/activity.hpp"
#include "metrics/head_tail_buffer.hpp"

namespace paragrad::metrics {

/// Picoseconds, so that the simulator's times stay exact and adjacent spans share their boundary.
inline std::int64_t picoseconds(double seconds) { return std::llround(seconds * 1e12); }

struct Span {
  std::int64_t begin_ps = 0;
  std::int64_t end_ps = 0;
  core::Activity activity{};
};

/// The spans of one thread of control, at most `limit`: the first and the last. Empty spans are left out.
class ActivityLog : public core::ActivityRecorder {
 public:
  explicit ActivityLog(std::size_t limit) : spans_(limit) {}

  void begin(core::Activity activity, double now_s) override { open_.push_back({picoseconds(now_s), 0, activity}); }
  void end(double now_s) override {
    Span span = open_.back();
    open_.pop_back();
    span.end_ps = picoseconds(now_s);
    if (span.end_ps > span.begin_ps) spans_.add(span);
  }

  HeadTailBuffer<Span>& spans() { return spans_; }

 private:
  std::vector<Span> open_;
  HeadTailBuffer<Span> spans_;
};

}  // namespace paragrad::metrics
