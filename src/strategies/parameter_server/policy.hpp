#pragma once

#include <cstdint>

#include "strategies/parameter_server/shard.hpp"

namespace paragrad::strategies {

/// A gradient as it comes to a server; the numbers lie in the shard's gradient().
struct Push {
  int worker = 0;
  std::uint64_t version = 0;  ///< of the parameters that it was computed with
  optim::Step step;
};

/// All in which asynchronous strategies differ at a server: when a worker is answered, and what becomes of a gradient. Knows
/// no transport. One object per server; this one is plain asynchronous SGD.
class Policy {
 public:
  virtual ~Policy() = default;

  /// Whether a worker that asks for parameters, and holds those of `version`, gets them now. If not it waits, and is asked
  /// for again after whatever else happens at this server.
  virtual bool answers(const Shard&, int /*worker*/, std::uint64_t /*version*/) const { return true; }

  /// False: the gradient was dropped.
  virtual bool push(comm::Communicator& comm, Shard& shard, const Push& push) {
    shard.apply(comm, push.step);
    return true;
  }

  /// The worker sends nothing more in this epoch, as it has come to its end or is gone for ever.
  virtual void leave(comm::Communicator&, Shard&, int /*worker*/, bool /*for_ever*/) {}

  /// All that are left have met; an epoch begins.
  virtual void begin_epoch() {}
};

}  // namespace paragrad::strategies
