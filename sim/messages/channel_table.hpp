#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace paragrad::sim {

/// Index into a pool of slots.
using Id = std::uint32_t;
inline constexpr Id no_id = ~Id{0};

/// Source, destination and tag; messages of one channel do not overtake each other.
struct Channel {
  int to = 0;
  int from = 0;
  int tag = 0;
  bool operator==(const Channel&) const = default;
};

/// The unmatched messages and receives of a channel, oldest first; the links between first and last are in the pools.
struct Queues {
  Id first_send = no_id, last_send = no_id;
  Id first_receive = no_id, last_receive = no_id;
  bool empty() const { return first_send == no_id && first_receive == no_id; }
};

/// The channels with unmatched messages or receives: a hash table with linear probing. Nothing depends on the order of its
/// entries.
class ChannelTable {
 public:
  ChannelTable() : entries_(1024) {}

  bool empty() const { return used_ == 0; }

  /// The channel's queues, created if necessary. Valid until the next call of a function of this class.
  Queues& at(const Channel& channel) {
    if (2 * (used_ + 1) > entries_.size()) grow();
    Entry& entry = entries_[slot_of(channel)];
    if (entry.queues.empty()) {
      entry.channel = channel;
      ++used_;
    }
    return entry.queues;
  }

  /// nullptr if there are none.
  Queues* find(const Channel& channel) {
    Queues& queues = entries_[slot_of(channel)].queues;
    return queues.empty() ? nullptr : &queues;
  }

  /// Call when the channel's queues have become empty.
  void remove(const Channel& channel);

 private:
  struct Entry {
    Channel channel;
    Queues queues;  // empty: a free entry
  };

  std::size_t home_of(const Channel& channel) const;
  std::size_t slot_of(const Channel& channel) const;
  std::size_t next(std::size_t slot) const { return (slot + 1) & (entries_.size() - 1); }
  void grow();

  std::vector<Entry> entries_;  // a power of two
  std::size_t used_ = 0;
};

}  // namespace paragrad::sim
