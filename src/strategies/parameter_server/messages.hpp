#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/lists.hpp"
#include "optim/local_optimiser.hpp"
#include "strategies/parameter_server/shard.hpp"

namespace paragrad::strategies {

// The protocol between workers and servers. A server handles a worker's requests in the order in which they are sent.
// Requests are fixed-size host memory; gradients and parameters follow as separate messages.
inline constexpr int request_tag = 100;    // to a server
inline constexpr int content_tag = 101;    // to a server: payload of a request
inline constexpr int reply_tag = 102;      // to a worker
inline constexpr int parameter_tag = 103;  // to a worker: payload of a reply
inline constexpr int pong_tag = 104;       // to a worker that pings the server while it waits for a reply

/// Sent instead of a version or split number: the worker was dropped.
inline constexpr std::uint64_t left_out = ~std::uint64_t{0};

struct Request {
  enum class Kind : std::int32_t {
    start,      ///< worker 0: layout and parameters; answered when they are in place
    push,       ///< a gradient; not answered
    fetch,      ///< answered with the parameters
    take,       ///< to server 0: answered with the number of the next split
    meet,       ///< the end of an epoch; answered with the parameters when all workers have sent it
    sum,        ///< to server 0: values; answered with their sums when all workers have sent theirs
    get_state,  ///< answered with the state of the shard
    set_state,  ///< restores that state; answered when it is in place
    ping,       ///< answered at once, with the number of requests the server has served
    hand_in,    ///< the worker's fetches that the server did not see; answered
    report,     ///< answered with statistics and order of the run
    leave       ///< the last request of this worker; not answered
  };
  Kind kind = Kind::fetch;
  std::int32_t worker = 0;
  std::uint64_t number = 0;  ///< version held; start: number of matrices in the layout; take: splits done; sum: values
  std::uint64_t size = 0;    ///< start: of the shard
  optim::Step step{};        ///< of a gradient
};

struct Reply {
  std::uint64_t number = 0;  ///< version, or split
  std::uint64_t lost = 0;    ///< workers dropped so far; after meet and sum a list of them follows
};

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}
template <class T>
std::span<std::byte> writable_bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

/// Tags of the messages that carry the state of a shard: its arrays, then the list of its numbers.
struct StateTags {
  int arrays, numbers;
};
inline constexpr StateTags state_to_worker{parameter_tag, reply_tag};
inline constexpr StateTags state_to_server{content_tag, content_tag};

inline void send_state(comm::Communicator& comm, int to, StateTags tags, Shard& shard) {
  core::StateView state;
  shard.describe_state(state);
  for (const auto& array : state.arrays) comm.send(to, tags.arrays, array.values);
  std::vector<double> numbers;
  for (const auto& number : state.numbers) numbers.push_back(number.get());
  send_list(comm, to, tags.numbers, numbers);
}

inline void receive_state(comm::Communicator& comm, int from, StateTags tags, Shard& shard) {
  core::StateView state;
  shard.describe_state(state);
  for (const auto& array : state.arrays) comm.receive(from, tags.arrays, array.values);
  const auto numbers = receive_list<double>(comm, from, tags.numbers);
  for (std::size_t i = 0; i < numbers.size(); ++i) state.numbers.at(i).set(numbers[i]);
}

}  // namespace paragrad::strategies
