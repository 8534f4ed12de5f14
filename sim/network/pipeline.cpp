#include "sim/network/pipeline.hpp"

#include <algorithm>

namespace paragrad::sim {

Time Pipeline::send(const Route& route, std::uint32_t actor, Delivery& receiver, std::uint64_t message) {
  return advance(add({route, 0, 0, &receiver, message, actor}));
}

Time Pipeline::advance(std::uint32_t index) {
  Flight& flight = flights_[index];
  const Route& route = flight.route;
  Time first_end = never;
  for (;;) {
    const int hop = flight.at++;
    const bool at_device = hop == 0 || flight.at == route.hops;
    const Resources::Use use = resources_.take(route.path[static_cast<std::size_t>(hop)], engine_.now(), route.bytes,
                                               at_device ? route.at_least : 0);
    if (hop == 0) first_end = use.end;
    const Time latency = hop == route.wire ? route.latency : 0;
    flight.tail = std::max(use.end, flight.tail) + latency;
    const Time head = use.begin + latency;
    if (flight.tail >= never || flight.at == route.hops) break;
    if (head > engine_.now()) {
      engine_.schedule(head, flight.actor, *this, index);
      return first_end;
    }
  }
  unused_.push_back(index);
  if (flight.tail < never) flight.receiver->arrives(flight.message, flight.tail);
  return first_end;
}

void Pipeline::fire(std::uint64_t flight) { advance(static_cast<std::uint32_t>(flight)); }

std::uint32_t Pipeline::add(const Flight& flight) {
  if (unused_.empty()) {
    flights_.push_back(flight);
    return static_cast<std::uint32_t>(flights_.size() - 1);
  }
  const std::uint32_t index = unused_.back();
  unused_.pop_back();
  flights_[index] = flight;
  return index;
}

}  // namespace paragrad::sim
