#include "comm/operations.hpp"

#include <stdexcept>

#include "core/format.hpp"

namespace paragrad::comm {
namespace {

void expect_parts(Operation operation, const Communicator& comm, const Parts& parts, std::span<const float> array) {
  if (parts.workers() != comm.size() || parts.length() != array.size())
    throw std::logic_error(core::format("{} of {} elements over {} workers was given {} parts of {} elements",
                                        name_of(operation), array.size(), comm.size(), parts.workers(), parts.length()));
}

}  // namespace

void ReduceScatter::operator()(Communicator& comm, const Parts& parts, std::span<float> array) const {
  expect_parts(Operation::reduce_scatter, comm, parts, array);
  comm.run_collective([&](Communicator& workers, std::span<float> data) { run_(workers, parts, data); }, array);
}

void AllGather::operator()(Communicator& comm, const Parts& parts, std::span<float> array) const {
  expect_parts(Operation::all_gather, comm, parts, array);
  comm.run_collective([&](Communicator& workers, std::span<float> data) { run_(workers, parts, data); }, array);
}

void Broadcast::operator()(Communicator& comm, std::span<float> array) const { comm.run_collective(run_, array); }

void AllToAll::operator()(Communicator& comm, const Lengths& lengths, std::span<const float> send,
                          std::span<float> receive) const {
  std::size_t sent = 0, received = 0;
  for (int k = 0; k < comm.size(); ++k) {
    sent += lengths(comm.rank(), k);
    received += lengths(k, comm.rank());
  }
  if (sent != send.size() || received != receive.size())
    throw std::logic_error(
        core::format("all_to_all of blocks with {} and {} elements was given arrays of {} to send and {} to receive", sent,
                     received, send.size(), receive.size()));
  // Some workers may have nothing to receive, but all must take part.
  float present = 0;
  comm.run_collective([&](Communicator& workers, std::span<float>) { run_(workers, lengths, send, receive); },
                      {&present, 1});
}

}  // namespace paragrad::comm
