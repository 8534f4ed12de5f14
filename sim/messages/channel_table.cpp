#include "sim/messages/channel_table.hpp"

#include <utility>

namespace paragrad::sim {

std::size_t ChannelTable::home_of(const Channel& channel) const {
  // Odd constants with random bits; the upper bits of a product are the well-mixed ones.
  const std::uint64_t name = static_cast<std::uint64_t>(channel.to) * 0x9e3779b97f4a7c15u +
                             static_cast<std::uint64_t>(channel.from) * 0xd1b54a32d192ed03u +
                             static_cast<std::uint64_t>(channel.tag) * 0x8cb92ba72f3d8dd7u;
  return static_cast<std::size_t>(((name ^ name >> 32) * 0x9e3779b97f4a7c15u) >> 24) & (entries_.size() - 1);
}

/// The channel's entry, or the free one where it would go.
std::size_t ChannelTable::slot_of(const Channel& channel) const {
  std::size_t slot = home_of(channel);
  while (!entries_[slot].queues.empty() && !(entries_[slot].channel == channel)) slot = next(slot);
  return slot;
}

void ChannelTable::remove(const Channel& channel) {
  --used_;
  // Entries after the hole move into it unless that would put them before their home slot.
  std::size_t hole = slot_of(channel);
  for (std::size_t slot = next(hole); !entries_[slot].queues.empty(); slot = next(slot)) {
    const std::size_t mask = entries_.size() - 1;
    const std::size_t home = home_of(entries_[slot].channel);
    if (((slot - home) & mask) < ((slot - hole) & mask)) continue;
    entries_[hole] = std::exchange(entries_[slot], {});
    hole = slot;
  }
}

void ChannelTable::grow() {
  std::vector<Entry> old(2 * entries_.size());
  old.swap(entries_);
  for (const Entry& entry : old)
    if (!entry.queues.empty()) entries_[slot_of(entry.channel)] = entry;
}

}  // namespace paragrad::sim
