#pragma once

#include <cstdint>
#include <limits>

#include "strategies/parameter_server/shard.hpp"

namespace paragrad::strategies {

/// A gradient as received by a server; its values are in the shard's gradient().
struct Push {
  int worker = 0;
  std::uint64_t version = 0;  ///< of the parameters it was computed with
  optim::Step step;
};

/// Everything in which asynchronous strategies differ at a server: when a worker's fetch is answered, and what happens to a
/// gradient. Independent of the transport. One object per server; this base class is plain asynchronous SGD.
class Policy {
 public:
  virtual ~Policy() = default;

  /// Whether a worker that requests parameters, and holds those of `version`, gets them now. If not it waits, and this is
  /// called again after every other event at this server.
  virtual bool answers(const Shard&, int /*worker*/, std::uint64_t /*version*/) const { return true; }

  /// False: the gradient was dropped.
  virtual bool push(comm::Communicator& comm, Shard& shard, const Push& push) {
    shard.apply(comm, push.step);
    return true;
  }

  /// The worker sends nothing more in this epoch: it has reached its end or, with permanently, is gone.
  virtual void leave(comm::Communicator&, Shard&, int /*worker*/, bool /*permanently*/) {}

  /// All remaining workers have reached the end of the epoch; a new one begins.
  virtual void begin_epoch() {}

  /// When, by the server's clock, close() is to be called and fetches are to be considered again; infinity: never.
  virtual double deadline_s() const { return std::numeric_limits<double>::infinity(); }
  virtual void close() {}
};

}  // namespace paragrad::strategies
