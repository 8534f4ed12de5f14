#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "optim/local_optimiser.hpp"

namespace paragrad::strategies {

// What workers and servers say to each other. A worker's requests to one server are served in the order in which it sends
// them. Requests are host memory of one size; gradients and parameters follow as messages of their own.
inline constexpr int request_tag = 100;    // to a server
inline constexpr int content_tag = 101;    // to a server: what belongs to a request
inline constexpr int reply_tag = 102;      // to a worker
inline constexpr int parameter_tag = 103;  // to a worker: what belongs to a reply
inline constexpr int pong_tag = 104;       // to a worker that waits for a reply and asks whether the server is still there

/// In place of a version or a split: the worker had been left out.
inline constexpr std::uint64_t left_out = ~std::uint64_t{0};

struct Request {
  enum class Kind : std::int32_t {
    start,      ///< worker 0: here are layout and parameters; answered when they are in place
    push,       ///< a gradient; not answered
    fetch,      ///< answered with the parameters
    take,       ///< of server 0: answered with the number of the next split
    meet,       ///< the end of an epoch; answered with the parameters when all have come
    sum,        ///< of server 0: values; answered with their sums when all have come
    get_state,  ///< answered with all that the shard remembers
    set_state,  ///< that comes back; answered when it is in place
    ping,       ///< answered at once, with how much the server has done
    hand_in,    ///< what the worker fetched without the server's doing; answered
    report,     ///< answered with what is known of the run
    leave       ///< the last of this worker; not answered
  };
  Kind kind = Kind::fetch;
  std::int32_t worker = 0;
  std::uint64_t number = 0;  ///< version held; start: matrices of the layout; take: splits done so far; sum: values
  std::uint64_t size = 0;    ///< start: of the shard
  optim::Step step{};        ///< of a gradient
};

struct Reply {
  std::uint64_t number = 0;  ///< version, or split
  std::uint64_t lost = 0;    ///< workers that were left out so far; with meet and sum a list of them follows
};

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}
template <class T>
std::span<std::byte> writable_bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

/// Lists of host memory: their length, then they themselves.
template <class T>
void send_list(comm::Communicator& comm, int to, int tag, const std::vector<T>& values) {
  const std::uint64_t count = values.size();
  comm.send(to, tag, bytes_of(count));
  if (count > 0) comm.send(to, tag, std::as_bytes(std::span(values)));
}

template <class T>
std::vector<T> receive_list(comm::Communicator& comm, int from, int tag) {
  std::uint64_t count = 0;
  comm.receive(from, tag, writable_bytes_of(count));
  std::vector<T> values(count);
  if (count > 0) comm.receive(from, tag, std::as_writable_bytes(std::span(values)));
  return values;
}

}  // namespace paragrad::strategies
