#pragma once

#include "comm/wire.hpp"
#include "sim/platform.hpp"

namespace paragrad::sim {

/// The links of a platform as the closed forms of collectives see them (comm/collectives/cost.hpp): those of devices inside
/// a node, at different sockets if it has several, and those of nodes at one leaf switch.
inline comm::Surroundings surroundings_of(const Platform& platform, int workers_per_node) {
  const double overhead_s = platform.message.send_overhead_s + platform.message.receive_overhead_s;
  const auto wire = [&](const Link& link) { return comm::Wire{link.latency_s, overhead_s, link.bytes_per_s}; };
  const Link& inside = platform.sockets_per_node > 1 ? platform.node : platform.peer;
  return {wire(inside),     wire(platform.leaf),
          workers_per_node, platform.leaf.nics_per_node,
          platform.nccl,    platform.reduction.segmentation};
}

}  // namespace paragrad::sim
