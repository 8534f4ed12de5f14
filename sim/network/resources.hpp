#pragma once

#include <cstdint>
#include <vector>

#include "sim/compute/speed_profile.hpp"
#include "sim/engine/time.hpp"

namespace paragrad::sim {

/// Resources that messages cross and share: links, NICs, buses, switches, memories, each in one direction. Each serves one
/// message at a time, first come, first served, and stays idle for a gap in between.
///
/// A resource that can carry several messages at full speed (the uplinks of a switch: a bundle of cables) has as many
/// channels as fit into its capacity; a message takes the channel that is free first. Memory: 40 bytes per resource.
class Resources {
 public:
  using Id = std::uint32_t;

  explicit Resources(Time gap = 0) : gap_(gap) {}

  /// Adds `count` identical resources. bytes_per_s: per channel; 0: infinitely fast. Returns the first id; the others
  /// follow.
  Id add(std::size_t count, double bytes_per_s, std::size_t channels = 1);

  /// Adds `count` resources of total capacity `bytes_per_s`, shared by messages of `message_bytes_per_s` each: as many
  /// channels as fit, at least one. Capacity 0: infinitely fast.
  Id add_shared(std::size_t count, double bytes_per_s, double message_bytes_per_s);

  /// Adds a fault: factor is the remaining fraction of the speed during that time, on all channels.
  void slow(Id resource, Time from, Time until, double factor);

  struct Use {
    Time begin, end;
  };
  /// Takes the resource for `bytes`, from `head` at the earliest, for at least `at_least` at full speed. Ends at `never` if
  /// the resource is dead.
  Use take(Id resource, Time head, std::int64_t bytes, Time at_least = 0);

  /// For how long it has been in use: the mean over its channels.
  double busy_ps(Id id) const { return resources_[id].busy_ps / static_cast<double>(channels(id)); }

  // For callers that precompute uses (sim/shortcut): resources with one channel and constant speed.
  struct State {
    Time asked = -1;  ///< time of the last call of take; -1: none
    Time free = 0;
  };
  std::size_t size() const { return resources_.size(); }
  Time gap() const { return gap_; }
  bool simple(Id id) const { return resources_[id].channels == none && resources_[id].speed == none; }
  Time duration(Id id, std::int64_t bytes) const { return resources_[id].bandwidth.time_of(bytes); }
  State state(Id id) const { return {resources_[id].asked, resources_[id].free}; }
  void set_state(Id id, State state) { resources_[id].asked = state.asked, resources_[id].free = state.free; }
  void add_busy(Id id, Time time) { resources_[id].busy_ps += static_cast<double>(time); }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  struct Resource {
    InverseBandwidth bandwidth;
    Time free = 0;                  // one channel
    Time asked = -1;                // head of the last message
    double busy_ps = 0;             // of all channels, which may be more than a Time can hold
    std::uint32_t channels = none;  // else: index into channels_
    std::uint32_t speed = none;     // index into speeds_
  };

  Use use(const Resource& resource, Time begin, Time duration) const;
  std::size_t channels(Id id) const {
    return resources_[id].channels == none ? 1 : channels_[resources_[id].channels].size();
  }

  Time gap_;
  std::vector<Resource> resources_;
  std::vector<std::vector<Time>> channels_;  // heaps: when each channel is free, the first at the front
  std::vector<SpeedProfile> speeds_;
};

}  // namespace paragrad::sim
