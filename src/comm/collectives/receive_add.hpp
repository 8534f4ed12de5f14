#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "comm/collectives/segments.hpp"
#include "comm/communicator.hpp"
#include "comm/tags.hpp"

namespace paragrad::comm::collectives {

/// A known sequence of messages, each to be added to a stretch of memory: received ahead of need, added strictly in order.
/// Scratch: `in_flight` messages of Communicator::scratch.
class ReceiveAdd {
 public:
  struct Message {
    int from = 0;
    std::span<float> into;  ///< at most one segment; empty: there is no such message
    int tag = allreduce_tag;
  };

  /// largest: an upper bound of the messages' length, in elements.
  ReceiveAdd(Communicator& comm, std::size_t count, std::size_t largest, std::function<Message(std::size_t)> message,
             std::size_t in_flight = messages_in_flight);

  /// Waits for the next message and adds it.
  void add_next();

 private:
  struct Arrival {
    Message message;
    Request request;
  };

  std::span<float> slot(std::size_t index, std::size_t length);
  void post_next();

  Communicator& comm_;
  std::size_t count_;
  std::size_t slots_;
  std::size_t slot_floats_;
  std::function<Message(std::size_t)> message_;
  std::span<float> scratch_;       // [slots][slot_floats]
  std::vector<Arrival> arrivals_;  // [slots]
  std::size_t posted_ = 0;
  std::size_t added_ = 0;
};

/// Sends under way to one or more peers, finished in the order in which they were started.
class Sends {
 public:
  explicit Sends(Communicator& comm) : comm_(comm) {}

  void start(int to, std::span<const float> data, int tag = allreduce_tag);  ///< nothing to send: nothing is sent
  void finish_all_but(std::size_t count);
  void finish() { finish_all_but(0); }

 private:
  Communicator& comm_;
  std::deque<Request> requests_;
};

}  // namespace paragrad::comm::collectives
