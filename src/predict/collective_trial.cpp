#include "predict/collective_trial.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

#include "comm/allreduce.hpp"
#include "core/format.hpp"

namespace paragrad::predict {
namespace {

using comm::Operation;

/// Whole numbers so small that their sums over 100,000 workers are exact.
constexpr std::size_t worker_values = 61, element_values = 67;
float value_of(std::size_t worker, std::size_t element) {
  return static_cast<float>(1 + worker % worker_values + element % element_values);
}

float sum_of_values(std::size_t workers, std::size_t element) {
  const std::size_t rest = workers % worker_values;
  const std::size_t of_workers = workers / worker_values * (worker_values * (worker_values - 1) / 2) + rest * (rest - 1) / 2;
  return static_cast<float>(workers * (1 + element % element_values) + of_workers);
}

/// Calls action(begin, some elements from there on) for pieces of device memory that are copied to the host.
template <class Action>
void for_each_piece(std::span<float> array, Action action) {
  constexpr std::size_t piece = 1 << 20;
  for (std::size_t begin = 0; begin < array.size(); begin += piece)
    action(begin, array.subspan(begin, std::min(piece, array.size() - begin)));
}

}  // namespace

CollectiveTrial::CollectiveTrial(Operation operation, const std::string& algorithm, comm::Communicator& comm,
                                 std::size_t floats)
    : operation_(operation), algorithm_(algorithm), array_(comm.device().allocate(floats)) {
  const auto parts = comm::Parts::even(floats, comm.size());
  const std::span<float> array = array_.span();
  switch (operation) {
    case Operation::allreduce: {
      const std::shared_ptr<const comm::Allreduce> allreduce = comm::make_allreduce(algorithm);
      explanation_ = allreduce->explain(comm, floats);
      run_ = [=](comm::Communicator& workers) { (*allreduce)(workers, array); };
      break;
    }
    case Operation::reduce_scatter:
      run_ = [=, reduce_scatter = comm::ReduceScatter(algorithm)](comm::Communicator& workers) {
        reduce_scatter(workers, parts, array);
      };
      break;
    case Operation::all_gather:
      run_ = [=, all_gather = comm::AllGather(algorithm)](comm::Communicator& workers) {
        all_gather(workers, parts, array);
      };
      break;
    case Operation::broadcast:
      run_ = [=, broadcast = comm::Broadcast(algorithm)](comm::Communicator& workers) { broadcast(workers, array); };
      break;
    case Operation::all_to_all: {
      received_ = comm.device().allocate(parts.of(comm.rank()).size() * static_cast<std::size_t>(comm.size()));
      const comm::AllToAll::Lengths lengths = [parts](int, int to) { return parts.of(to).size(); };
      run_ = [=, received = received_.span(), all_to_all = comm::AllToAll(algorithm)](comm::Communicator& workers) {
        all_to_all(workers, lengths, array, received);
      };
    }
  }
}

/// What has to come out at an element of the array or, for an all_to_all, of what was received.
float CollectiveTrial::expected(const comm::Communicator& comm, std::size_t element) const {
  const auto size = static_cast<std::size_t>(comm.size());
  const auto parts = comm::Parts::even(array_.size(), comm.size());
  switch (operation_) {
    case Operation::allreduce:
    case Operation::reduce_scatter:
      return sum_of_values(size, element);
    case Operation::all_gather:  // the owner is the last worker whose part begins at or before the element
      return value_of(((element + 1) * size - 1) / array_.size(), element);
    case Operation::broadcast:
      return value_of(0, element);
    case Operation::all_to_all: {
      const core::Range own = parts.of(comm.rank());
      return value_of(element / own.size(), own.begin + element % own.size());
    }
  }
  return 0;
}

void CollectiveTrial::check(comm::Communicator& comm) {
  backend::Device& device = comm.device();
  std::vector<float> host;
  for_each_piece(array_.span(), [&](std::size_t begin, std::span<float> piece) {
    host.resize(piece.size());
    for (std::size_t i = 0; i < host.size(); ++i) host[i] = value_of(static_cast<std::size_t>(comm.rank()), begin + i);
    device.transfer(std::span<const float>(host), piece);
  });
  run(comm);
  const bool owns_part = operation_ == Operation::reduce_scatter, receives = operation_ == Operation::all_to_all;
  const core::Range checked = owns_part ? comm::Parts::even(array_.size(), comm.size()).of(comm.rank())
                                        : core::Range{0, receives ? received_.size() : array_.size()};
  for_each_piece(checked.of(receives ? received_.span() : array_.span()), [&](std::size_t begin, std::span<float> piece) {
    host.resize(piece.size());
    device.transfer(std::span<const float>(piece), std::span(host));
    for (std::size_t i = 0; i < host.size(); ++i) {
      const std::size_t element = checked.begin + begin + i;
      if (const float wanted = expected(comm, element); host[i] != wanted)
        throw std::logic_error(core::format("{} {} over {} workers leaves {} at element {} of worker {} instead of {}",
                                            comm::name_of(operation_), algorithm_, comm.size(), host[i], element,
                                            comm.rank(), wanted));
    }
  });
}

}  // namespace paragrad::predict
