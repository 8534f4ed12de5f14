#pragma once

#include <memory>
#include <vector>

#include "comm/worker.hpp"
#include "strategies/parameter_server/order.hpp"
#include "strategies/parameter_server/server.hpp"

namespace paragrad::strategies {

/// This worker was dropped: the others had waited for it too long.
class LeftOut : public comm::Failure {
 public:
  using Failure::Failure;
};

/// A server is gone, and part of the parameters with it.
class ServerLost : public comm::Failure {
 public:
  using Failure::Failure;
};

/// Versions of the shards.
using Versions = std::vector<std::uint64_t>;

/// One worker's connection to the servers. All calls but start() are made in a communication task. A server receives the
/// worker's requests in order. They throw LeftOut or ServerLost.
class Link {
 public:
  virtual ~Link() = default;

  /// Worker 0 only: creates the shards with these parameters.
  virtual void start(comm::Communicator& comm, std::span<const core::Matrix> layout, std::span<const float> parameters) = 0;

  /// Pushes a gradient of all parameters, computed with those of `versions`. Returns when it may be overwritten.
  virtual void push(comm::Communicator& comm, const Versions& versions, const optim::Step& step,
                    std::span<const float> gradient) = 0;

  /// Fetches the parameters as soon as the servers allow. versions: of the parameters held by the worker; on return, of the
  /// fetched ones.
  virtual void fetch(comm::Communicator& comm, Versions& versions, std::span<float> parameters) = 0;

  /// Returns the number of the epoch's next split. done: splits this worker has finished.
  virtual std::uint64_t take(comm::Communicator& comm, std::uint64_t done) = 0;

  /// Fetches the parameters after the last gradient of all workers; waits until each has called it. Returns the workers
  /// dropped since the beginning, in ascending order; the same for all.
  virtual std::vector<int> meet(comm::Communicator& comm, Versions& versions, std::span<float> parameters) = 0;

  /// Sums values over the workers, in rank order; waits until each has called it. Returns the dropped workers, as meet()
  /// does.
  virtual std::vector<int> sum(comm::Communicator& comm, std::span<double> values) = 0;

  /// Copies the whole state of shard `index` to or from `copy`, which has the same shape.
  virtual void get_state(comm::Communicator& comm, std::size_t index, Shard& copy) = 0;
  virtual void set_state(comm::Communicator& comm, std::size_t index, Shard& copy) = 0;

  /// Called by all workers before the report: sends what the servers cannot observe.
  virtual void hand_in(comm::Communicator&) {}

  /// Returns the servers' combined statistics, and the order of each server.
  virtual Statistics report(comm::Communicator& comm, std::vector<std::vector<Event>>& orders) = 0;

  /// The last call.
  virtual void leave(comm::Communicator& comm) = 0;
};

}  // namespace paragrad::strategies
