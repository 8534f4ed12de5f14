#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "comm/collectives/catalogue.hpp"
#include "comm/operations.hpp"

namespace paragrad::comm::testing {

/// An operation other than allreduce, and an algorithm that serves it.
struct Served {
  Operation operation;
  std::string algorithm;

  std::string name() const { return std::string(name_of(operation)) + " " + algorithm; }
};

/// By our own algorithms.
inline std::vector<Served> all_served() {
  std::vector<Served> all;
  for (const Operation operation :
       {Operation::reduce_scatter, Operation::all_gather, Operation::broadcast, Operation::all_to_all})
    for (const collectives::Entry& entry : algorithms())
      if (!entry.library && entry.serves(operation)) all.push_back({operation, entry.info.name});
  return all;
}

/// What the workers bring, and how the arrays are cut: equally, or into parts and blocks of different lengths, some empty.
struct Task {
  int workers = 1;
  std::size_t length = 0;
  bool equal = true;
  std::function<float(int rank, std::size_t element)> value;

  std::vector<core::Range> parts() const {
    std::vector<core::Range> parts;
    const auto n = static_cast<std::size_t>(workers);
    const auto cut = [&](std::size_t k) { return k == 0 || k == n ? k / n * length : k * k * 7919 % (length + 1); };
    std::vector<std::size_t> cuts;
    for (std::size_t k = 0; k <= n; ++k) cuts.push_back(cut(k));
    std::ranges::sort(cuts);
    for (std::size_t k = 0; k < n; ++k)
      parts.push_back(equal ? core::part_of(length, n, k) : core::Range{cuts[k], cuts[k + 1]});
    return parts;
  }

  /// Floats from one worker to another in an all_to_all.
  std::size_t block(int from, int to) const {
    const auto f = static_cast<std::size_t>(from), t = static_cast<std::size_t>(to), n = static_cast<std::size_t>(workers);
    return equal ? core::part_of(length, n, t).size() : (3 * f + 5 * t) % 4 * (length + f) / n;
  }

  std::vector<float> array_of(int rank, std::size_t count) const {
    std::vector<float> array(count);
    for (std::size_t i = 0; i < count; ++i) array[i] = value(rank, i);
    return array;
  }
};

/// Whole numbers, whose sums are exact.
inline float whole_number(int rank, std::size_t element) {
  return static_cast<float>(rank * rank + 1 + static_cast<int>(element % 1000));
}

/// The operation on an array in equal parts, in memory of the communicator's device.
inline std::function<void(Communicator&, std::span<float>)> in_equal_parts(const Served& served) {
  const std::string& algorithm = served.algorithm;
  switch (served.operation) {
    case Operation::allreduce:
      return [allreduce = std::shared_ptr<const Allreduce>(make_allreduce(algorithm))](
                 Communicator& comm, std::span<float> data) { (*allreduce)(comm, data); };
    case Operation::reduce_scatter:
      return [run = ReduceScatter(algorithm)](Communicator& comm, std::span<float> data) {
        run(comm, Parts::even(data.size(), comm.size()), data);
      };
    case Operation::all_gather:
      return [run = AllGather(algorithm)](Communicator& comm, std::span<float> data) {
        run(comm, Parts::even(data.size(), comm.size()), data);
      };
    case Operation::broadcast:
      return Broadcast(algorithm);
    case Operation::all_to_all:
      break;
  }
  return [run = AllToAll(algorithm)](Communicator& comm, std::span<float> data) {
    const Parts parts = Parts::even(data.size(), comm.size());
    core::Arena received = comm.device().allocate(parts.of(comm.rank()).size() * static_cast<std::size_t>(comm.size()));
    run(
        comm, [&](int, int to) { return parts.of(to).size(); }, data, received.span());
  };
}

/// What a worker has after the operation. What it must not use beforehand is NaN.
inline std::vector<float> outcome_of(Communicator& comm, const Served& served, const Task& task) {
  const std::vector<core::Range> ranges = task.parts();
  const Parts parts = task.equal ? Parts::even(task.length, task.workers) : Parts(ranges);
  const core::Range own = ranges[static_cast<std::size_t>(comm.rank())];
  const float nothing = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> array = task.array_of(comm.rank(), task.length);
  switch (served.operation) {
    case Operation::allreduce:
      throw std::logic_error("an allreduce has tests of its own");
    case Operation::reduce_scatter:
      ReduceScatter(served.algorithm)(comm, parts, array);
      return {array.begin() + static_cast<std::ptrdiff_t>(own.begin), array.begin() + static_cast<std::ptrdiff_t>(own.end)};
    case Operation::all_gather:
      for (std::size_t i = 0; i < array.size(); ++i)
        if (i < own.begin || i >= own.end) array[i] = nothing;
      AllGather(served.algorithm)(comm, parts, array);
      return array;
    case Operation::broadcast:
      if (comm.rank() != 0) std::ranges::fill(array, nothing);
      Broadcast(served.algorithm)(comm, array);
      return array;
    case Operation::all_to_all:
      break;
  }
  std::size_t sent = 0, received = 0;
  for (int k = 0; k < task.workers; ++k) sent += task.block(comm.rank(), k), received += task.block(k, comm.rank());
  const std::vector<float> send = task.array_of(comm.rank(), sent);
  std::vector<float> receive(received, nothing);
  AllToAll(served.algorithm)(
      comm, [&](int from, int to) { return task.block(from, to); }, send, receive);
  return receive;
}

/// The same by plain loops over all workers; sums in rank order.
inline std::vector<float> expected_of(int rank, Operation operation, const Task& task) {
  const std::vector<core::Range> parts = task.parts();
  const core::Range own = parts[static_cast<std::size_t>(rank)];
  std::vector<float> expected;
  if (operation == Operation::broadcast) return task.array_of(0, task.length);
  if (operation == Operation::all_gather)
    for (int k = 0; k < task.workers; ++k)
      for (std::size_t i = parts[static_cast<std::size_t>(k)].begin; i < parts[static_cast<std::size_t>(k)].end; ++i)
        expected.push_back(task.value(k, i));
  if (operation == Operation::reduce_scatter)
    for (std::size_t i = own.begin; i < own.end; ++i) {
      float sum = 0;
      for (int k = 0; k < task.workers; ++k) sum += task.value(k, i);
      expected.push_back(sum);
    }
  if (operation == Operation::all_to_all)
    for (int from = 0; from < task.workers; ++from) {
      std::size_t begin = 0;
      for (int to = 0; to < rank; ++to) begin += task.block(from, to);
      for (std::size_t i = 0; i < task.block(from, rank); ++i) expected.push_back(task.value(from, begin + i));
    }
  return expected;
}

}  // namespace paragrad::comm::testing
