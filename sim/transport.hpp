#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "sim/engine/engine.hpp"
#include "sim/network/network.hpp"

namespace paragrad::sim {

/// Mailboxes of all emulated workers: MPI's matching rules over a network model.
///
/// A message of at most eager_bytes is copied (where it has content, see Device::computes) and travels at once. A longer one
/// (rendezvous) starts when send and receive are both posted and is copied straight from buffer to buffer. A receive that
/// names its source matches the oldest unmatched message of that source and tag. A receive from any source takes the message
/// that arrives first, of several that arrive in the same picosecond that of the lowest rank; an eager message arrives when
/// it is delivered, a rendezvous one when word of it does (the network's latency after the send).
class Transport : private Delivery, private EventHandler {
 public:
  Transport(Engine& engine, Network& network, int workers, std::int64_t eager_bytes);

  comm::Request start_send(int from, int to, int tag, std::span<const std::byte> data);
  comm::Request start_receive(int rank, int from, int tag, std::span<std::byte> data);
  comm::Received wait(comm::Request request);  ///< for the running fiber

  std::uint64_t messages() const { return messages_sent_; }
  std::uint64_t bytes() const { return bytes_sent_; }

 private:
  using Id = std::uint32_t;
  static constexpr Id none = ~Id{0};

  struct Operation {  // a request
    bool done = false;
    Fiber* waiter = nullptr;
    Wait reason;
    comm::Received result{};
  };
  struct Message {
    int from = 0, to = 0, tag = 0;
    std::span<const std::byte> data;  // at the sender, or the eager copy
    std::vector<std::byte> copy{};
    bool eager = false;
    bool delivered = false;
    Time visible_at = 0;  // to receives from any source; of an eager message: once delivered
    Id send = none;       // operation of the sender, rendezvous only
    Id receive = none;    // posted receive it was matched with
  };
  struct Posted {
    int from = 0, tag = 0;
    std::span<std::byte> data;
    Id operation = none;
  };
  struct Mailbox {
    std::vector<Id> messages;  // unmatched, in the order of sending
    std::vector<Id> receives;  // unmatched, in the order of posting
  };

  /// Slots that are used again; ids stay small.
  template <class T>
  struct Pool {
    std::vector<T> slots;
    std::vector<Id> unused;
    Id add(T value);
    void remove(Id id) { unused.push_back(id); }
    T& operator[](Id id) { return slots[id]; }
  };

  void delivered(std::uint64_t message) override;
  void fire(std::uint64_t rank_or_send) override;

  bool visible(const Message& message) const;
  bool any_source_waits(const Mailbox& box, int tag);
  void match_mailbox(int rank, bool end_of_instant = false);
  Id find_message(const Mailbox& box, const Posted& receive);
  void match(Id message, Id receive);
  void complete(Id operation, comm::Received result);
  void finish_receive(Id message);
  void match_at_end_of(Time instant, int rank);

  Engine& engine_;
  Network& network_;
  std::int64_t eager_bytes_;
  std::vector<Mailbox> boxes_;
  Pool<Operation> operations_;
  Pool<Message> messages_;
  Pool<Posted> receives_;
  std::uint64_t messages_sent_ = 0;
  std::uint64_t bytes_sent_ = 0;
};

}  // namespace paragrad::sim
