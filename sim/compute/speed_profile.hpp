#pragma once

#include <vector>

#include "sim/engine/time.hpp"
#include "sim/platform.hpp"

namespace paragrad::sim {

inline Time end_of(const Platform::Fault& fault) { return from_seconds(fault.at_s + fault.duration_s); }

/// The speed of something over time: 1 normally, less during a fault, 0 while it is stopped. Overlapping faults multiply.
class SpeedProfile {
 public:
  void slow(Time from, Time until, double factor);

  /// The first time from `at` on at which the speed is above 0; or never.
  Time moving_from(Time at) const;

  /// When work that begins at `start` and takes `duration` at full speed is done; or never, if it stops for good before.
  /// Increases with both. Throws ConfigError if that is after the end of the clock.
  Time end(Time start, Time duration) const;

 private:
  struct Piece {
    Time from;  // until the next piece
    double factor;
  };
  std::size_t piece_at(Time at) const;
  void cut(Time at);

  std::vector<Piece> pieces_{{0, 1}};
};

}  // namespace paragrad::sim
