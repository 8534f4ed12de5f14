#pragma once

#include <array>
#include <cstdint>

#include "sim/network/topology.hpp"

namespace paragrad::sim::shortcut {

/// A message's route, and how long it occupies each resource.
struct CachedRoute {
  int from = -1, to = -1;
  std::uint32_t bytes = 0;
  Route route;
  std::array<Time, Route::max_hops> durations{};
};

/// Caches the latest routes, as consecutive messages mostly take the same ones.
class RouteCache {
 public:
  RouteCache(const Topology& topology, const Resources& resources) : topology_(topology), resources_(resources) {}

  /// Valid until the next call.
  const CachedRoute& find(int from, int to, std::uint32_t bytes) {
    CachedRoute& cached =
        kept_[(static_cast<std::uint32_t>(from) * 0x9e3779b1u + static_cast<std::uint32_t>(to) * 0x85ebca6bu) >> 26];
    if (cached.from != from || cached.to != to || cached.bytes != bytes) work_out(cached, from, to, bytes);
    return cached;
  }

  /// Whether a requested route has a resource that is not a simple queue of constant speed.
  bool failed() const { return failed_; }

 private:
  void work_out(CachedRoute& cached, int from, int to, std::uint32_t bytes);

  const Topology& topology_;
  const Resources& resources_;
  std::array<CachedRoute, 64> kept_;
  bool failed_ = false;
};

}  // namespace paragrad::sim::shortcut
