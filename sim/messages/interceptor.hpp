#pragma once

#include <cstdint>
#include <span>

#include "comm/communicator.hpp"

namespace paragrad::sim {

/// Sees collectives before they become messages, and may give their results without these. One is chosen when a simulation
/// is set up, or none.
class CollectiveInterceptor {
 public:
  virtual ~CollectiveInterceptor() = default;

  /// Called by a worker for each of its collectives, in order. True: done, and the worker's own time is that of its end.
  virtual bool join(comm::Communicator& comm, const comm::Collective& collective, std::span<float> data) = 0;

  /// Call before using the network, after settling.
  virtual void make_way() = 0;

  /// Called when no other event can happen: true if some can now.
  virtual bool nobody_else_comes() = 0;

  /// Call when there is traffic other than that of the workers' own fibers.
  virtual void disable() = 0;

  virtual std::uint64_t shortcuts() const = 0;  ///< collectives that it computed at once
  virtual std::uint64_t left_out() const = 0;   ///< pieces of them skipped as repetitions
};

}  // namespace paragrad::sim
