#pragma once

#include <cstdint>

#include "comm/communicator.hpp"

namespace paragrad::comm {

/// What to add to this worker's clock to get worker 0's, measured at time at_s.
struct ClockOffset {
  double at_s = 0;
  double offset_s = 0;
  double error_s = 0;  ///< upper bound: half the shortest round trip
};

/// Collective. Each worker exchanges ping-pongs with worker 0 and uses the shortest round trip (Cristian, Distributed
/// Computing 3, 1989).
ClockOffset measure_clock_offset(Communicator& comm);

/// Converts times of this worker's clock to worker 0's: interpolates linearly between the offsets measured before and after
/// a run, as clocks run at different speeds.
class ClockAlignment {
 public:
  ClockAlignment() = default;  ///< for a clock shared by all workers
  ClockAlignment(ClockOffset before, ClockOffset after) : before_(before), after_(after) {}

  std::int64_t aligned(std::int64_t ps) const;
  double error_s() const;

 private:
  ClockOffset before_, after_;
};

}  // namespace paragrad::comm
