#pragma once

#include <array>
#include <cstdint>

#include "sim/network/topology.hpp"

namespace paragrad::sim::shortcut {

/// A message's route, and how long each resource of it is taken.
struct Way {
  int from = -1, to = -1;
  std::uint32_t bytes = 0;
  Route route;
  std::array<Time, Route::max_hops> durations{};
};

/// The ways of messages; the last ones are kept, as many more mostly go the same way.
class Ways {
 public:
  Ways(const Topology& topology, const Resources& resources) : topology_(topology), resources_(resources) {}

  /// Valid until the next call.
  const Way& find(int from, int to, std::uint32_t bytes) {
    Way& way = kept_[(static_cast<std::uint32_t>(from) * 0x9e3779b1u + static_cast<std::uint32_t>(to) * 0x85ebca6bu) >> 26];
    if (way.from != from || way.to != to || way.bytes != bytes) work_out(way, from, to, bytes);
    return way;
  }

  /// Something on a way asked for is more than a queue of constant speed.
  bool failed() const { return failed_; }

 private:
  void work_out(Way& way, int from, int to, std::uint32_t bytes);

  const Topology& topology_;
  const Resources& resources_;
  std::array<Way, 64> kept_;
  bool failed_ = false;
};

}  // namespace paragrad::sim::shortcut
