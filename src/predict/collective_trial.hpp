#pragma once

#include <functional>
#include <string>

#include "comm/operations.hpp"
#include "core/arena.hpp"

namespace paragrad::predict {

/// One worker's arrays for an operation, and the operation on them. Every worker makes one with the same arguments. Arrays
/// are cut into equal parts; in an all_to_all, what a worker sends is.
class CollectiveTrial {
 public:
  /// floats: of the worker's array. Throws ConfigError if the algorithm does not serve the operation.
  CollectiveTrial(comm::Operation operation, const std::string& algorithm, comm::Communicator& comm, std::size_t floats);

  void run(comm::Communicator& comm) { run_(comm); }

  /// Runs the operation on known values and compares the result with what it has to be. Throws logic_error. Only for
  /// devices that compute.
  void check(comm::Communicator& comm);

  /// How the algorithm goes about it, if its name is not enough.
  const std::string& explanation() const { return explanation_; }

 private:
  float expected(const comm::Communicator& comm, std::size_t element) const;

  comm::Operation operation_;
  std::string algorithm_;
  core::Arena array_;
  core::Arena received_;  // of an all_to_all
  std::function<void(comm::Communicator&)> run_;
  std::string explanation_;
};

}  // namespace paragrad::predict
