#include "sim/shortcut/timetable.hpp"

namespace paragrad::sim::shortcut {
Timetable::Timetable(const Resources& resources) : gap_(resources.gap()), tracks_(resources.size()) {
  for (std::size_t i = 0; i < tracks_.size(); ++i) {
    const Resources::State state = resources.state(static_cast<Resources::Id>(i));
    if (state.asked < 0) continue;
    tracks_[i].whole = false;
    tracks_[i].insert(0, {state.asked, state.asked, state.free, {}});
  }
}

/// Whether two uses request at the same time in an order that matters and is unknown.
bool Timetable::in_doubt(const Use& earlier, const Use& later) {
  const bool matters = earlier.free > earlier.begin && later.free > later.begin;
  return earlier.head == later.head && matters && !earlier.origin.before(later.origin);
}

Time Timetable::take_between(Track& track, Time head, Time duration, Origin origin) {
  track.touched = true;
  std::uint32_t place = track.count;  // after all uses whose heads were not later
  while (place > 0 && track.at(place - 1).head > head) --place;
  if (place == 0 && !track.whole) failed_ = true;

  Use use{head, head, 0, origin};
  if (place > 0) use.begin = std::max(head, track.at(place - 1).free);
  use.free = use.begin + duration + gap_;
  for (std::uint32_t i = place; i > 0 && track.at(i - 1).head == head; --i) failed_ |= in_doubt(track.at(i - 1), use);
  if (place < track.count) failed_ |= use.free > track.at(place).begin;
  track.insert(place, use);
  return use.begin;
}

bool Timetable::last_uses(Resources::Id resource, std::uint32_t one, std::uint32_t other, std::vector<Time>& times) const {
  const Track& track = tracks_[resource];
  const auto known = [&](std::uint32_t rank) { return rank == one || rank == other; };
  for (std::uint32_t i = track.begin_of_last_few(); i < track.count; ++i) {
    const Use& use = track.at(i);
    if (!known(use.origin.sender) || !known(use.origin.setter)) return false;
    times.insert(times.end(), {use.head, use.begin, use.free});
  }
  return true;
}

void Timetable::repeat_last_uses(Resources::Id resource, Time later, Time busy) {
  Track& track = tracks_[resource];
  track.busy += busy;
  const std::uint32_t dropped = track.begin_of_last_few();
  track.first = (track.first + dropped) % Track::length;
  track.count -= dropped;
  track.whole = false;
  for (std::uint32_t i = 0; i < track.count; ++i) {
    Use& use = track.at(i);
    use.head += later, use.begin += later, use.free += later;
  }
}

void Timetable::Track::insert(std::uint32_t index, const Use& use) {
  if (count == length) {
    whole = false;
    if (index == 0) return;  // it has failed already
    first = (first + 1) % length;
    --count;
    --index;
  }
  for (std::uint32_t i = count; i > index; --i) at(i) = at(i - 1);
  at(index) = use;
  ++count;
}

void Timetable::commit(Resources& resources) const {
  for (std::size_t i = 0; i < tracks_.size(); ++i) {
    const Track& track = tracks_[i];
    if (!track.touched) continue;
    const auto id = static_cast<Resources::Id>(i);
    resources.set_state(id, {track.at(track.count - 1).head, track.at(track.count - 1).free});
    resources.add_busy(id, track.busy);
  }
}

}  // namespace paragrad::sim::shortcut
