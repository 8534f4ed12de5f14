#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/operation.hpp"
#include "comm/parts.hpp"
#include "core/options.hpp"

namespace paragrad::comm {

/// Operations are what all workers do together on arrays of float32 in the memory of their devices. comm/collectives/ has
/// the algorithms, each of which serves one or more operations, with their closed forms.
///
/// Every operation is collective: all workers call it with the same algorithm, lengths and parts, in the same order. Which
/// messages a worker sends, and in which order it adds, depends only on (algorithm, lengths, size, rank), so the bits are
/// the same in all worlds. Each throws ConfigError for an algorithm that does not serve it, logic_error if parts and arrays
/// do not fit together, and Failure if a peer is gone. Steps, bytes and orders of additions: comm/collectives/README.md.
std::string_view name_of(Operation operation);
std::vector<std::string> operation_names();
Operation parse_operation(std::string_view name);  ///< throws ConfigError

/// The algorithms that serve an operation, or all.
core::CatalogueInfo collective_catalogue(std::optional<Operation> operation = {});

/// The first in the catalogue that serves the operation.
std::string default_algorithm(Operation operation);

/// Throws ConfigError unless an algorithm of this name, perhaps with parameters, serves the operation.
void check_algorithm(Operation operation, std::string_view algorithm);

/// Each worker starts with an addend for the whole array; afterwards its own part holds the sum over all workers, and the
/// rest is undefined. See Allreduce for both halves of a sum.
class ReduceScatter {
 public:
  using Function = void(Communicator&, const Parts&, std::span<float> array);

  explicit ReduceScatter(std::string_view algorithm);
  void operator()(Communicator& comm, const Parts& parts, std::span<float> array) const;

 private:
  Function* run_;
};

/// Each worker starts with its own part; afterwards all hold the whole array.
class AllGather {
 public:
  using Function = void(Communicator&, const Parts&, std::span<float> array);

  explicit AllGather(std::string_view algorithm);
  void operator()(Communicator& comm, const Parts& parts, std::span<float> array) const;

 private:
  Function* run_;
};

/// Afterwards `array` is on every worker what it was on worker 0.
class Broadcast {
 public:
  using Function = void(Communicator&, std::span<float> array);

  explicit Broadcast(std::string_view algorithm);
  void operator()(Communicator& comm, std::span<float> array) const;

 private:
  Function* run_;
};

/// Each worker sends a block to every worker, of any lengths.
class AllToAll {
 public:
  /// The number of floats that worker `from` sends to worker `to`, on all workers the same. An algorithm that sends each
  /// block straight to its destination (direct) asks only for blocks from or to the own worker.
  using Lengths = std::function<std::size_t(int from, int to)>;
  using Function = void(Communicator&, const Lengths&, std::span<const float> send, std::span<float> receive);

  explicit AllToAll(std::string_view algorithm);

  /// send:     this worker's blocks for workers 0, 1, …, one after the other.
  /// receive:  the blocks from workers 0, 1, …, likewise; other memory than `send`.
  void operator()(Communicator& comm, const Lengths& lengths, std::span<const float> send, std::span<float> receive) const;

 private:
  Function* run_;
};

}  // namespace paragrad::comm
