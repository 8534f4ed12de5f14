#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/tags.hpp"

namespace paragrad::comm::collectives {

/// A known sequence of messages, each to be added to a range of memory: received in advance, added strictly in order.
/// Scratch memory: `in_flight` messages of Communicator::scratch.
class ReceiveAdd {
 public:
  struct Message {
    int from = 0;
    std::span<float> into;  ///< at most one segment; empty: no message
    int tag = collective_tag;
  };

  /// largest: an upper bound on the messages' length, in elements. in_flight: 0: as the communicator's segmentation says.
  ReceiveAdd(Communicator& comm, std::size_t count, std::size_t largest, std::function<Message(std::size_t)> message,
             std::size_t in_flight = 0);

  /// Waits for the next message and adds it.
  void add_next();

  std::size_t posted() const { return posted_; }

  /// Skips `messages` messages: neither received nor added, see Communicator::skip_repeated.
  void leave_out(std::size_t messages) { posted_ += messages; }

 private:
  struct Arrival {
    Message message;
    Request request;
  };

  std::span<float> place(std::size_t slot) {
    return scratch_.subspan(slot * slot_floats_, arrivals_[slot].message.into.size());
  }
  std::size_t next(std::size_t slot) const { return slot + 1 == slots_ ? 0 : slot + 1; }
  void post_next();

  Communicator& comm_;
  std::size_t count_;
  std::size_t slots_;
  std::size_t slot_floats_;
  std::function<Message(std::size_t)> message_;
  std::span<float> scratch_;       // [slots][slot_floats]
  std::vector<Arrival> arrivals_;  // [slots]
  std::size_t posted_ = 0;
  std::size_t slot_to_post_ = 0;
  std::size_t slot_to_add_ = 0;
};

/// Pending sends to one or more peers, finished in the order in which they were started.
class Sends {
 public:
  explicit Sends(Communicator& comm) : comm_(comm) {}

  void start(int to, std::span<const float> data, int tag = collective_tag);  ///< empty data: sends nothing
  void finish_all_but(std::size_t count);
  void finish() { finish_all_but(0); }

 private:
  Communicator& comm_;
  std::vector<Request> requests_;  // from first_ on
  std::size_t first_ = 0;
};

}  // namespace paragrad::comm::collectives
