#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <vector>

#include "sim/shortcut/collective_program.hpp"
#include "sim/shortcut/timetable.hpp"

namespace paragrad::sim::shortcut {

inline constexpr std::uint32_t none = ~std::uint32_t{0};

/// A list that is mostly short and then stored in place: there are many workers, and indirection is slow.
template <class T, std::size_t n>
using List = boost::container::small_vector<T, n>;

struct Message {
  int from = 0, to = 0;
  std::uint32_t tag = 0;
  std::uint32_t bytes = 0;
  bool eager = false;
  bool sent = false, wanted = false;                  // send posted, receive posted
  bool sender_waits = false, receiver_waits = false;  // that worker is blocked
  bool send_over = false, receive_over = false;
  Time sent_at = 0, wanted_at = 0;
  Time departs_at = never;
  Timetable::Origin origin{};
  Time head = never, tail = 0;  // at the first resource of the receiver's side
  Time released_at = never, arrives_at = never;
  std::uint32_t next = none;  // in its channel
};

struct Channel {  // of unmatched sends or of unmatched receives
  int from = 0;
  std::uint32_t tag = 0;
  std::uint32_t first = none, last = none;
};

struct Worker {
  Time time = 0;
  CollectivePrograms::Cursor next;
  std::uint32_t requests = 0;
  List<Channel, 2> channels;
  List<std::uint32_t, 4> leaving;  // messages in send order that wait for an older one's departure
  List<std::uint32_t, 4> coming;   // messages that have left their senders
};

/// The progress of the workers in a collective, each in its own time, and the messages between them.
struct CollectiveState {
  explicit CollectiveState(const Resources& resources) : timetable(resources) {}

  /// The worker's request of the given age: 2 * message, + 1 for the receiver's; none if it is complete.
  std::uint32_t& request(int rank, std::uint32_t age) {
    const std::uint32_t number = workers[static_cast<std::size_t>(rank)].requests - age;
    return requests[static_cast<std::size_t>(rank) * (request_mask + 1) + (number & request_mask)];
  }

  std::vector<Worker> workers;
  std::vector<Message> messages;
  std::vector<std::uint32_t> requests;  // [workers][request_mask + 1]
  std::uint32_t request_mask = 0;
  Timetable timetable;
};

}  // namespace paragrad::sim::shortcut
