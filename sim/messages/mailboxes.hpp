#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/engine/time.hpp"
#include "sim/messages/channel_table.hpp"

namespace paragrad::sim {

/// A pool of reusable slots; ids stay small. References are valid until the next add().
template <class T>
class Pool {
 public:
  Id add(T value) {
    if (unused_.empty()) {
      slots_.push_back(std::move(value));
      return static_cast<Id>(slots_.size() - 1);
    }
    const Id id = unused_.back();
    unused_.pop_back();
    slots_[id] = std::move(value);
    return id;
  }
  void remove(Id id) { unused_.push_back(id); }
  T& operator[](Id id) { return slots_[id]; }
  const T& operator[](Id id) const { return slots_[id]; }

 private:
  std::vector<T> slots_;
  std::vector<Id> unused_;
};

/// Neighbours in a mailbox's list of unmatched entries, in the order of posting.
struct Neighbours {
  Id previous = no_id;
  Id next = no_id;
};

/// A message, from the start of its send until it was received and the sender has waited for it.
struct Send {
  int from = 0, to = 0, tag = 0;
  bool eager = false;
  bool delivered = false;
  bool waited_for = false;
  Id receive = no_id;               // the matched receive
  std::span<const std::byte> data;  // at the sender, or the copy
  std::unique_ptr<std::byte[]> copy{};
  Time visible_at =
      never;  // to receives from any source: arrival of an eager message, or of the request to send of a rendezvous message
  Time released_at = never;  // the sender may use its memory again
  Fiber* waiter = nullptr;
  Time deadline = never;  // of the waiting fiber: later events do not wake it
  Id next_in_channel = no_id;
  Neighbours neighbours{};
};

/// A receive, from its start until it was waited for.
struct Receive {
  int rank = 0, from = 0, tag = 0;
  bool unexpected = false;  // its message was eager and arrived first
  std::span<std::byte> data;
  Time posted_at = 0;
  Time arrives_at = never;
  int source = 0;
  std::size_t bytes = 0;
  Fiber* waiter = nullptr;
  Time deadline = never;
  Id next_in_channel = no_id;
  Neighbours neighbours{};
};

/// Matches messages and receives by MPI's rules. A receive that names its source matches the oldest unmatched message of
/// that source and tag. A receive from any source takes the message that becomes visible first or, of several that become
/// visible in the same picosecond, that of the lowest rank; it is matched when that instant ends (match_any), and until then
/// no later receive of its tag is matched.
///
/// Cost: constant per message, except for mailboxes in which a receive from any source waits, which are searched.
class Mailboxes {
 public:
  struct Match {
    Id send = no_id;
    Id receive = no_id;
  };

  explicit Mailboxes(int workers) : boxes_(static_cast<std::size_t>(workers)) {}

  Pool<Send> sends;
  Pool<Receive> receives;

  /// Returns the matching receive, or no_id: then the message waits in its mailbox.
  Id post_send(Id send);

  /// Returns the matching message, or no_id: then the receive waits in its mailbox.
  Id post_receive(Id receive);

  bool any_source_waits(int rank, int tag) const;

  bool empty() const { return channels_.empty() && any_source_ == 0; }

  /// Matches what can be matched in a mailbox; everything that arrives by `now` must have arrived.
  std::vector<Match> match_any(int rank, Time now);

  /// Calls see(send) for each unmatched message of a mailbox.
  template <class See>
  void for_each_send(int rank, See see) const {
    for (Id id = box(rank).sends.first; id != no_id; id = sends[id].neighbours.next) see(sends[id]);
  }

 private:
  struct List {
    Id first = no_id;
    Id last = no_id;
  };
  struct Box {
    List sends;
    List receives;
    int any_source = 0;  // receives from any source that wait
  };

  Box& box(int rank) { return boxes_[static_cast<std::size_t>(rank)]; }
  const Box& box(int rank) const { return boxes_[static_cast<std::size_t>(rank)]; }

  template <class T>
  static void link(Pool<T>& pool, List& list, Id id);
  template <class T>
  static void unlink(Pool<T>& pool, List& list, Id id);
  void add_send(Id send);
  void add_receive(Id receive);
  void take_send(Id send);
  void take_receive(Id receive);
  Id first_visible(const Box& box, int tag, Time now) const;
  bool contested(const Receive& receive) const;

  std::vector<Box> boxes_;
  ChannelTable channels_;
  std::size_t any_source_ = 0;  // receives from any source that wait
};

}  // namespace paragrad::sim
