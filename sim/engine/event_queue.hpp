#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine/time.hpp"

namespace paragrad::sim {

/// Receives an event when its time has come.
class EventHandler {
 public:
  virtual ~EventHandler() = default;
  virtual void fire(std::uint64_t argument) = 0;
};

/// Position of an event in the total order: time, then actor, then order of creation.
struct EventKey {
  static constexpr int sequence_bits = 39;  // half a trillion events
  static constexpr std::uint32_t actors = std::uint32_t{1} << (64 - sequence_bits);

  Time time = 0;
  std::uint64_t actor_and_sequence = 0;

  EventKey() = default;
  EventKey(Time at, std::uint32_t actor, std::uint64_t sequence)
      : time(at), actor_and_sequence(std::uint64_t{actor} << sequence_bits | sequence) {}

  bool operator==(const EventKey&) const = default;
  bool operator<(const EventKey& other) const {
    return time != other.time ? time < other.time : actor_and_sequence < other.actor_and_sequence;
  }
};

struct Event {
  EventKey key;
  EventHandler* handler = nullptr;
  std::uint64_t argument = 0;
};

/// Priority queue of events for a clock that only goes forward: a radix heap (Ahuja, Mehlhorn, Orlin and Tarjan, JACM 37(2),
/// 1990) over time. Bucket k > 0 holds the events whose time first differs from `base` in bit k - 1, so a push is an append,
/// and an event moves to lower buckets a few times before it is taken. Simultaneous events, which are frequent in lock-step
/// simulations, are sorted once.
class EventQueue {
 public:
  bool empty() const { return size_ == 0; }

  /// The event may precede events that have already been taken.
  void push(const Event& event) {
    ++size_;
    if (event.key.time <= base_) return push_late(event);
    append(event);
  }

  const Event& top() { return next_is_late() ? late_.front() : instant_[next_]; }

  Event pop() {
    const bool late = next_is_late();
    --size_;
    return late ? pop_late() : instant_[next_++];
  }

 private:
  void append(const Event& event) {
    const int bucket = 63 - std::countl_zero(static_cast<std::uint64_t>(event.key.time ^ base_));
    buckets_[static_cast<std::size_t>(bucket)].push_back(event);
    filled_ |= std::uint64_t{1} << bucket;
  }

  bool next_is_late() {
    if (next_ == instant_.size()) {
      if (!late_.empty()) return true;
      refill();
    }
    return !late_.empty() && late_.front().key < instant_[next_].key;
  }

  void refill();
  void push_late(const Event& event);
  Event pop_late();

  Time base_ = -1;  // time of instant_
  std::size_t size_ = 0;
  std::vector<Event> instant_;  // the events of that time, in order, the first next_ of them taken
  std::size_t next_ = 0;
  std::vector<Event> late_;  // a heap of the events pushed for that time or an earlier one
  std::array<std::vector<Event>, 64> buckets_;
  std::uint64_t filled_ = 0;  // bit k: bucket k is not empty
};

}  // namespace paragrad::sim
