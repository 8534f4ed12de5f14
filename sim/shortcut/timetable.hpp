#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "sim/network/resources.hpp"

namespace paragrad::sim::shortcut {

/// Uses of resources, computed out of time order. A new use is inserted among the known ones by the time at which its
/// message's head requests the resource. If that moves no other use, all have the times they would have got in time order.
/// If it might move one, or if two request at the same time in an unknown order, the timetable gives up: failed().
class Timetable {
 public:
  explicit Timetable(const Resources& resources);

  /// The worker that determines when a message requests a resource: its sender, or another worker that unblocks the sender.
  struct Origin {
    static constexpr std::uint32_t nobody = ~std::uint32_t{0};
    std::uint32_t sender = nobody;
    std::uint32_t setter = nobody;  // nobody: in no known order
    /// Whether a use of this origin certainly precedes one that requests at the same time and was reported later: a sender
    /// acts sequentially, and so does the worker that unblocks it.
    bool before(const Origin& later) const {
      return sender == later.sender && setter != nobody && (setter == sender || setter == later.setter);
    }
  };

  /// Returns when the use begins.
  Time take(Resources::Id resource, Time head, Time duration, Origin origin) {
    Track& track = tracks_[resource];
    track.busy += duration;
    if (track.count == 0 || track.last().head >= head) return take_between(track, head, duration, origin);
    const Time begin = std::max(head, track.last().free);
    track.append({head, begin, begin + duration + gap_, origin});
    return begin;
  }

  bool failed() const { return failed_; }

  /// Appends the times of the last few uses of a resource to `times`. False: other workers than these two were involved.
  bool last_uses(Resources::Id resource, std::uint32_t one, std::uint32_t other, std::vector<Time>& times) const;

  /// Repeats the last uses up to `later` later; nothing can be inserted between them any more. busy: of those left out.
  void repeat_last_uses(Resources::Id resource, Time later, Time busy);

  /// The time of all uses of a resource.
  Time busy(Resources::Id resource) const { return tracks_[resource].busy; }

  /// Writes the state after all uses.
  void commit(Resources& resources) const;

 private:
  struct Use {
    Time head = 0;
    Time begin = 0;
    Time free = 0;  // when the next use may begin
    Origin origin;
  };

  // The last uses, by head, in a ring. Earlier ones are final: nothing may be inserted before the first.
  struct Track {
    static constexpr std::uint32_t length = 8;
    static constexpr std::uint32_t last_few = 4;
    std::array<Use, length> uses;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    Time busy = 0;      // all uses
    bool whole = true;  // nothing has been dropped
    bool touched = false;
    const Use& last() const { return at(count - 1); }
    std::uint32_t begin_of_last_few() const { return count < last_few ? 0 : count - last_few; }
    void append(const Use& use) {
      touched = true;
      if (count < length) {
        uses[(first + count++) % length] = use;
      } else {
        whole = false;
        uses[first] = use;
        first = (first + 1) % length;
      }
    }
    Use& at(std::uint32_t index) { return uses[(first + index) % length]; }
    const Use& at(std::uint32_t index) const { return uses[(first + index) % length]; }
    void insert(std::uint32_t index, const Use& use);
  };

  Time take_between(Track& track, Time head, Time duration, Origin origin);
  static bool in_doubt(const Use& earlier, const Use& later);

  Time gap_;
  std::vector<Track> tracks_;
  bool failed_ = false;
};

}  // namespace paragrad::sim::shortcut
