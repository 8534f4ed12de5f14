#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/network/network.hpp"

namespace paragrad::sim {

/// A message crosses a path of resources (device out, NIC out, NIC in, device in), each of which serves one message after
/// the other in the order in which the messages' heads reach it; head and tail are followed separately, so a long message is
/// on several resources at once (cut-through). With head reaching hop i at h_i, n bytes, bandwidth B_i, latency l_i:
///
///   start s_i = max(h_i, free_i),  free_i = s_i + n/B_i,  h_{i+1} = s_i + l_i
///   tail_i = max(s_i + n/B_i, tail_{i-1} + l_{i-1}),  delivered at tail_last + l_last
///
/// Alone: latency + n / min B. Reaching a hop is an event, so resources are taken in the order of virtual time and never in
/// the order in which somebody's code happened to run.
class FifoNetwork : public Network, private EventHandler {
 public:
  FifoNetwork(Engine& engine, const Platform& platform);

  Time start(int from, int to, std::int64_t bytes, Delivery& receiver, std::uint64_t message) override;
  Time latency(int from, int to) const override;

 private:
  static constexpr int max_hops = 4;

  struct Resource {
    InverseBandwidth bandwidth;
    Time free = 0;
  };
  struct Hop {
    std::uint32_t resource;
    Time latency;
  };
  struct Flight {
    std::array<Hop, max_hops> path;
    int hops = 0;
    int at = 0;     // hop whose resource is asked for next
    Time tail = 0;  // tail at the end of the previous hop
    std::int64_t bytes = 0;
    Delivery* receiver = nullptr;
    std::uint64_t message = 0;
    std::uint32_t actor = 0;
  };

  void fire(std::uint64_t flight) override;
  void cross(std::uint32_t flight);  ///< takes the next hop now and schedules what follows
  std::uint32_t new_flight();
  int node_of(int rank) const { return rank / devices_per_node_; }

  Engine& engine_;
  int devices_per_node_;
  Time node_latency_;
  Time network_latency_;
  std::uint32_t first_nic_;  // resources: [2 per device (out, in)] [2 per node (NIC out, NIC in)]
  std::vector<Resource> resources_;
  std::vector<Flight> flights_;
  std::vector<std::uint32_t> unused_flights_;
};

}  // namespace paragrad::sim
