#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "comm/communicator.hpp"

namespace paragrad::sim::calibration {

/// Times of messages of one length between two workers.
struct MessagePoint {
  std::size_t bytes = 0;
  double one_way_s = 0;   ///< half a round trip, one message at a time
  double exchange_s = 0;  ///< both send at the same time, until both have received
};

struct PingPongOptions {
  int first = 0, second = 1;  ///< the two workers; the others wait
  int passes = 12;            ///< over all sizes; the fastest is used
  double burst_s = 0.5e-3;    ///< duration of the messages of one size in one pass
};

/// Ping-pong with messages of the given lengths. The same code runs under MPI, where it measures, and in the simulator,
/// where it shows how well a platform file reproduces the measurement. Each length takes the fastest of several passes
/// spread over time, so that other users of a shared machine disturb only some of them.
///
/// Returns the points at every worker. Collective.
std::vector<MessagePoint> ping_pong(comm::Communicator& comm, const std::vector<std::size_t>& lengths,
                                    const PingPongOptions& options);

/// The longest message that is sent before its receive is posted (eager), measured by sending to a late receiver.
/// 0 if even an empty message waits; `most` if none does. Wall-clock time only. Collective.
std::size_t eager_bytes(comm::Communicator& comm, int first, int second, std::size_t most);

/// Time of an allreduce of each length over all workers, measured like ping_pong(): the slowest worker's.
std::vector<double> allreduce_times(comm::Communicator& comm, std::string_view collective,
                                    const std::vector<std::size_t>& floats, const PingPongOptions& options);

/// The message sizes to measure: 0 and the powers of two up to `most`, with three sizes per octave from 64 kB on, where
/// protocols change.
std::vector<std::size_t> message_lengths(std::size_t most);

}  // namespace paragrad::sim::calibration
