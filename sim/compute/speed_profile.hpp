#pragma once

#include <vector>

#include "sim/engine/time.hpp"
#include "sim/platform.hpp"

namespace paragrad::sim {

inline Time end_of(const Platform::Fault& fault) {
  return fault.duration_s < 1e6 ? from_seconds(fault.at_s + fault.duration_s) : never;
}

/// The speed of something over time: 1 normally, less during a fault, 0 while it is stopped. Overlapping faults multiply.
class SpeedProfile {
 public:
  void slow(Time from, Time until, double factor);

  /// The first time from `at` on at which the speed is above 0; or never.
  Time moving_from(Time at) const;

  /// When work that begins at `start` and takes `duration` at full speed is done; or never. Increases with both.
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
