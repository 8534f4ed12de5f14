#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/network/network.hpp"
#include "sim/network/resources.hpp"

namespace paragrad::sim {

/// The way of a message: resources in the order in which it crosses them.
struct Route {
  static constexpr int max_hops = 11;

  std::array<Resources::Id, max_hops> path{};
  std::uint8_t hops = 0;
  std::uint8_t wire = 0;   ///< the latency passes behind this hop
  Time latency = 0;        ///< of the whole way
  std::int64_t bytes = 0;  ///< for which the resources are taken
  Time at_least = 0;       ///< time on the first and the last resource at least

  void add(Resources::Id resource) { path[hops++] = resource; }
};

/// Moves messages along routes, cut-through: head and tail are followed separately, so a long message is on several
/// resources at once. With the head reaching hop i at h_i, n bytes, bandwidth B_i, latency l_i behind the hop and gap g:
///
///   start s_i = max(h_i, free_i),  free_i = s_i + n/B_i + g,  h_{i+1} = s_i + l_i
///   tail_i = max(s_i + n/B_i, tail_{i-1} + l_{i-1}),  delivered at tail_last + l_last
///
/// Alone: latency + n / min B. Reaching a hop later than now is an event, so resources are taken in the order of simulated
/// time and never in the order in which somebody's code happened to run. Hops that are free and that the head reaches at
/// once need no event: a message that need not wait costs one, behind the wire.
class Pipeline : private EventHandler {
 public:
  Pipeline(Engine& engine, Resources& resources) : engine_(engine), resources_(resources) {}

  /// Sends from now on, with events in the name of `actor`; receiver.arrives(message, at) is called when the last resource
  /// is taken, unless a dead one is on the way. Returns when the first resource has taken all of it.
  Time send(const Route& route, std::uint32_t actor, Delivery& receiver, std::uint64_t message);

 private:
  struct Flight {
    Route route;
    int at = 0;     // hop whose resource is asked for next
    Time tail = 0;  // tail at the end of the previous hop
    Delivery* receiver = nullptr;
    std::uint64_t message = 0;
    std::uint32_t actor = 0;
  };

  void fire(std::uint64_t flight) override;
  Time advance(std::uint32_t flight);  ///< as far as it comes without waiting; returns the end of the first hop
  std::uint32_t add(const Flight& flight);

  Engine& engine_;
  Resources& resources_;
  std::vector<Flight> flights_;
  std::vector<std::uint32_t> unused_;
};

}  // namespace paragrad::sim
