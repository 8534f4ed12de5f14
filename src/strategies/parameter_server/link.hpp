#pragma once

#include <memory>
#include <vector>

#include "comm/worker.hpp"
#include "strategies/parameter_server/order.hpp"
#include "strategies/parameter_server/server.hpp"

namespace paragrad::strategies {

/// This worker was left out: for too long the others had waited for it in vain.
class LeftOut : public comm::Failure {
 public:
  using Failure::Failure;
};

/// A server is gone, and with it a part of the parameters.
class ServerLost : public comm::Failure {
 public:
  using Failure::Failure;
};

/// Versions of the shards.
using Versions = std::vector<std::uint64_t>;

/// One worker's way to the servers. All calls but start() are for a communication task, and belong to one worker: its
/// requests reach each server in their order. They throw LeftOut, ServerLost.
class Link {
 public:
  virtual ~Link() = default;

  /// Worker 0: makes the shards, with these parameters.
  virtual void start(comm::Communicator& comm, std::span<const core::Matrix> layout, std::span<const float> parameters) = 0;

  /// A gradient of all parameters, computed with those of `versions`. Returns when it may be overwritten.
  virtual void push(comm::Communicator& comm, const Versions& versions, const optim::Step& step,
                    std::span<const float> gradient) = 0;

  /// The parameters, when the servers give them. versions: of those that the worker holds; then of those that came.
  virtual void fetch(comm::Communicator& comm, Versions& versions, std::span<float> parameters) = 0;

  /// Number of the next split of the epoch; `done`: so many of this worker's are.
  virtual std::uint64_t take(comm::Communicator& comm, std::uint64_t done) = 0;

  /// The parameters after the last gradient of all workers; waits until each has called it. Returns the workers that were
  /// left out since the beginning, in their order; the same for all.
  virtual std::vector<int> meet(comm::Communicator& comm, Versions& versions, std::span<float> parameters) = 0;

  /// Sums over the workers, in their order; waits until each has called it. Returns those left out, as meet() does.
  virtual std::vector<int> sum(comm::Communicator& comm, std::span<double> values) = 0;

  /// All that shard `index` remembers, into or out of `copy`, which is made alike.
  virtual void get_state(comm::Communicator& comm, std::size_t index, Shard& copy) = 0;
  virtual void set_state(comm::Communicator& comm, std::size_t index, Shard& copy) = 0;

  /// Before the report, by all workers: what servers cannot know of them.
  virtual void hand_in(comm::Communicator&) {}

  /// What the servers have counted, all together, and the order of each.
  virtual Statistics report(comm::Communicator& comm, std::vector<std::vector<Event>>& orders) = 0;

  /// The last call.
  virtual void leave(comm::Communicator& comm) = 0;
};

}  // namespace paragrad::strategies
