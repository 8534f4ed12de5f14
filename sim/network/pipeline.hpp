#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/network/network.hpp"
#include "sim/network/resources.hpp"

namespace paragrad::sim {

/// The route of a message: resources in the order in which it crosses them.
struct Route {
  static constexpr int max_hops = 11;

  std::array<Resources::Id, max_hops> path{};
  std::uint8_t hops = 0;
  std::uint8_t wire = 0;   ///< the latency is added after this hop
  Time latency = 0;        ///< of the whole route
  std::int64_t bytes = 0;  ///< that occupy the resources
  Time at_least = 0;       ///< minimum time on the first and the last resource

  void add(Resources::Id resource) { path[hops++] = resource; }
};

/// Moves messages along routes with cut-through switching: head and tail are tracked separately, so a long message occupies
/// several resources at once. With the head reaching hop i at h_i, n bytes, bandwidth B_i, latency l_i after the hop and gap
/// g:
///
///   start s_i = max(h_i, free_i),  free_i = s_i + n/B_i + g,  h_{i+1} = s_i + l_i
///   tail_i = max(s_i + n/B_i, tail_{i-1} + l_{i-1}),  delivered at tail_last + l_last
///
/// Without contention: latency + n / min B. Reaching a hop later than now is an event, so resources are taken in the order
/// of simulated time and never in the order in which code happened to run. Free hops that the head reaches at once need no
/// event: a message that does not wait costs one event, after the wire.
class Pipeline : private EventHandler {
 public:
  Pipeline(Engine& engine, Resources& resources) : engine_(engine), resources_(resources) {}

  /// Sends starting now, with events on behalf of `actor`; receiver.arrives(message, at) is called when the last resource is
  /// taken, unless a resource on the route is dead. Returns the time when the first resource has taken all of it.
  Time send(const Route& route, std::uint32_t actor, Delivery& receiver, std::uint64_t message);

 private:
  struct Flight {
    Route route;
    int at = 0;     // the next hop
    Time tail = 0;  // tail at the end of the previous hop
    Delivery* receiver = nullptr;
    std::uint64_t message = 0;
    std::uint32_t actor = 0;
  };

  void fire(std::uint64_t flight) override;
  Time advance(std::uint32_t flight);  ///< as far as possible without waiting; returns the end of the first hop
  std::uint32_t add(const Flight& flight);

  Engine& engine_;
  Resources& resources_;
  std::vector<Flight> flights_;
  std::vector<std::uint32_t> unused_;
};

}  // namespace paragrad::sim
