#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/communicator.hpp"

namespace paragrad::comm {

/// Lists in host memory, as two messages: their length, then their elements.
template <class List>
void send_list(Communicator& comm, int to, int tag, const List& values) {
  const std::uint64_t count = values.size();
  comm.send(to, tag, std::as_bytes(std::span(&count, 1)));
  if (count > 0) comm.send(to, tag, std::as_bytes(std::span(values)));
}

template <class T, class List = std::vector<T>>
List receive_list(Communicator& comm, int from, int tag) {
  std::uint64_t count = 0;
  comm.receive(from, tag, std::as_writable_bytes(std::span(&count, 1)));
  List values(count, T{});
  if (count > 0) comm.receive(from, tag, std::as_writable_bytes(std::span(values)));
  return values;
}

}  // namespace paragrad::comm
