#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/operations.hpp"
#include "sim/platform.hpp"

namespace paragrad::predict {

/// An operation, and how it is measured.
struct CollectiveSettings {
  std::string operation = "allreduce";
  std::string collective = "ring";
  std::string network = "fifo";
  bool oversubscribe = false;
  int workers_per_node = 0;  ///< 0: as detected
  int repeat = 0;
  std::string device;

  comm::Operation parsed_operation() const { return comm::parse_operation(operation); }
};

/// One line of the table.
struct Measurement {
  Measurement(comm::Operation what, int n, std::size_t length) : operation(what), workers(n), bytes(length) {}

  comm::Operation operation;
  int workers;
  std::size_t bytes;
  std::vector<double> times_s;         // of each repetition, until the last worker has finished
  std::uint64_t messages = 0;          // sent by all workers
  std::uint64_t busiest_messages = 0;  // sent by the worker that sends most of them
  std::uint64_t busiest_bytes = 0;
  std::uint64_t busiest_additions = 0;  // bytes added by the worker that adds most
  std::optional<double> closed_form_s;
  std::string explanation;
  std::string difference;  // why the closed form is far off, if it is

  /// Within a quarter of the closed form, or without one.
  bool is_near_closed_form() const {
    return !closed_form_s || std::abs(least_s() - *closed_form_s) <= 0.25 * *closed_form_s;
  }
  double least_s() const { return *std::min_element(times_s.begin(), times_s.end()); }
  double median_s() const {
    std::vector<double> sorted = times_s;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
  /// Minimum bandwidth that every worker's link must provide (the "bus bandwidth" of NCCL's tests).
  double bus_bytes_per_s() const {
    const double share = static_cast<double>(workers - 1) / workers;
    const double least_share = operation == comm::Operation::allreduce                  ? 2. * share
                               : operation == comm::Operation::broadcast && workers > 1 ? 1
                                                                                        : share;
    return least_s() > 0 ? least_share * static_cast<double>(bytes) / least_s() : 0;
  }
};

/// In the simulator: from the last worker's start to the last worker's end. Simulates once more, without additions, where
/// the time is far from the closed form. floats: the length of each worker's array. Throws ConfigError if memory is too
/// small.
Measurement emulate(const CollectiveSettings& arguments, const sim::Platform& platform, int workers, std::size_t floats);

/// The same, without its closed form.
Measurement emulate_once(const CollectiveSettings& settings, const sim::Platform& platform, int workers, std::size_t floats);

/// Under MPI: the longest time spent by any worker after a common barrier. Collective.
Measurement measure(comm::Communicator& comm, const CollectiveSettings& arguments, std::size_t floats);

}  // namespace paragrad::predict
