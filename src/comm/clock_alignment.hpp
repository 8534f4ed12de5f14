#pragma once

#include <cstdint>

#include "comm/communicator.hpp"

namespace paragrad::comm {

/// What has to be added to this worker's clock to get worker 0's, measured at some time.
struct ClockOffset {
  double at_s = 0;
  double offset_s = 0;
  double error_s = 0;  ///< at most: half of the shortest round trip
};

/// Collective. Ping-pong of each worker with worker 0; the shortest round trip counts (Cristian, Distributed Computing 3,
/// 1989).
ClockOffset measure_clock_offset(Communicator& comm);

/// Turns times of this worker's clock into worker 0's: offsets measured before and after a run, and a straight line between
/// them for clocks that run at different speeds.
class ClockAlignment {
 public:
  ClockAlignment() = default;  ///< of a clock that all share
  ClockAlignment(ClockOffset before, ClockOffset after) : before_(before), after_(after) {}

  std::int64_t aligned(std::int64_t ps) const;
  double error_s() const;

 private:
  ClockOffset before_, after_;
};

}  // namespace paragrad::comm
