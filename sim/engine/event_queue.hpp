#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine/time.hpp"

namespace paragrad::sim {

/// Something that wants to be told when its time has come.
class EventHandler {
 public:
  virtual ~EventHandler() = default;
  virtual void fire(std::uint64_t argument) = 0;
};

/// Place of an event in the total order: time, then actor, then order of creation.
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

/// Priority queue of events: a heap of four children per node, which touches half as many cache lines as one of two.
class EventQueue {
 public:
  bool empty() const { return events_.empty(); }
  const Event& top() const { return events_.front(); }

  void push(const Event& event) {
    std::size_t hole = events_.size();
    events_.push_back(event);
    for (; hole > 0; hole = parent(hole)) {
      if (!(event.key < events_[parent(hole)].key)) break;
      events_[hole] = events_[parent(hole)];
    }
    events_[hole] = event;
  }

  Event pop() {
    const Event first = events_.front();
    const Event moved = events_.back();
    events_.pop_back();
    if (!events_.empty()) sink(moved);
    return first;
  }

 private:
  static constexpr std::size_t arity = 4;
  static std::size_t parent(std::size_t index) { return (index - 1) / arity; }

  void sink(const Event& moved) {
    std::size_t hole = 0;
    for (std::size_t child = 1; child < events_.size(); child = arity * hole + 1) {
      const std::size_t end = child + arity < events_.size() ? child + arity : events_.size();
      std::size_t least = child;
      for (++child; child < end; ++child)
        if (events_[child].key < events_[least].key) least = child;
      if (!(events_[least].key < moved.key)) break;
      events_[hole] = events_[least];
      hole = least;
    }
    events_[hole] = moved;
  }

  std::vector<Event> events_;
};

}  // namespace paragrad::sim
