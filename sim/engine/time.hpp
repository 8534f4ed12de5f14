#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace paragrad::sim {

/// Simulated time in whole picoseconds (±106 days): sums are exact, so the order of events never depends on rounding.
using Time = std::int64_t;

/// Later than any event.
inline constexpr Time never = std::numeric_limits<Time>::max() / 4;

inline constexpr double picoseconds_per_second = 1e12;

inline Time from_seconds(double seconds) { return std::llround(seconds * picoseconds_per_second); }
inline double to_seconds(Time time) { return static_cast<double>(time) / picoseconds_per_second; }

/// Time that n bytes take at a given bandwidth, rounded once. Fixed point: 2^-32 ps per byte.
class InverseBandwidth {
 public:
  InverseBandwidth() = default;
  explicit InverseBandwidth(double bytes_per_second)
      : q32_(static_cast<std::uint64_t>(std::llround(picoseconds_per_second * 0x1p32 / bytes_per_second))) {}

  Time time_of(std::int64_t bytes) const {
    return static_cast<Time>((static_cast<unsigned __int128>(bytes) * q32_ + 0x80000000u) >> 32);
  }

 private:
  std::uint64_t q32_ = 0;  // 0: infinitely fast
};

}  // namespace paragrad::sim
