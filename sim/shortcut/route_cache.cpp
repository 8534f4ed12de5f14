#include "sim/shortcut/route_cache.hpp"

#include <algorithm>

namespace paragrad::sim::shortcut {

void RouteCache::work_out(CachedRoute& cached, int from, int to, std::uint32_t bytes) {
  cached.from = from, cached.to = to, cached.bytes = bytes;
  cached.route = topology_.route(from, to, bytes);
  for (int hop = 0; hop < cached.route.hops; ++hop) {
    const Resources::Id id = cached.route.path[static_cast<std::size_t>(hop)];
    failed_ |= !resources_.simple(id);
    const bool at_device = hop == 0 || hop + 1 == cached.route.hops;
    cached.durations[static_cast<std::size_t>(hop)] =
        std::max(resources_.duration(id, cached.route.bytes), at_device ? cached.route.at_least : 0);
  }
}

}  // namespace paragrad::sim::shortcut
