#include "sim/shortcut/ways.hpp"

#include <algorithm>

namespace paragrad::sim::shortcut {

void Ways::work_out(Way& way, int from, int to, std::uint32_t bytes) {
  way.from = from, way.to = to, way.bytes = bytes;
  way.route = topology_.route(from, to, bytes);
  for (int hop = 0; hop < way.route.hops; ++hop) {
    const Resources::Id id = way.route.path[static_cast<std::size_t>(hop)];
    failed_ |= !resources_.simple(id);
    const bool at_device = hop == 0 || hop + 1 == way.route.hops;
    way.durations[static_cast<std::size_t>(hop)] =
        std::max(resources_.duration(id, way.route.bytes), at_device ? way.route.at_least : 0);
  }
}

}  // namespace paragrad::sim::shortcut
