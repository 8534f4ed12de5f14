#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace paragrad::sim {

/// Simulated time in whole picoseconds: sums are exact, so the order of events never depends on rounding.
using Time = std::int64_t;

/// Later than any event: the clock ends here, after 40 days. Two times up to `never` and a latency can be added.
inline constexpr Time never = std::numeric_limits<Time>::max() / 8 * 3;

inline constexpr double picoseconds_per_second = 1e12;

/// The nearest time, `never` at most.
inline Time from_picoseconds(double picoseconds) {
  return picoseconds < static_cast<double>(never) ? std::llround(picoseconds) : never;
}
inline Time from_seconds(double seconds) { return from_picoseconds(seconds * picoseconds_per_second); }
inline double to_seconds(Time time) { return static_cast<double>(time) / picoseconds_per_second; }

/// Throws ConfigError: an event would come after the end of the clock.
[[noreturn]] void refuse_end_of_clock();

/// Throws ConfigError: a byte takes too long to be counted.
[[noreturn]] void refuse_bandwidth(double bytes_per_second);

/// Throws it unless `time` is on the clock.
inline void expect_on_clock(Time time) {
  if (time >= never) refuse_end_of_clock();
}

/// Time that n bytes take at a given bandwidth, rounded once, `never` at most. Fixed point: 2^-32 ps per byte.
class InverseBandwidth {
 public:
  InverseBandwidth() = default;
  explicit InverseBandwidth(double bytes_per_second) {
    const double q32 = picoseconds_per_second * 0x1p32 / bytes_per_second;
    if (!(q32 < 0x1p63)) refuse_bandwidth(bytes_per_second);
    q32_ = static_cast<std::uint64_t>(std::llround(q32));
  }

  Time time_of(std::int64_t bytes) const {
    const unsigned __int128 time = (static_cast<unsigned __int128>(bytes) * q32_ + 0x80000000u) >> 32;
    return time < static_cast<unsigned __int128>(never) ? static_cast<Time>(time) : never;
  }

 private:
  std::uint64_t q32_ = 0;  // 0: infinitely fast
};

}  // namespace paragrad::sim
