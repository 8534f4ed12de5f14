#include "sim/network/fifo.hpp"

#include <algorithm>

namespace paragrad::sim {

FifoNetwork::FifoNetwork(Engine& engine, const Platform& platform)
    : engine_(engine),
      devices_per_node_(platform.devices_per_node),
      node_latency_(from_seconds(platform.peer.latency_s)),
      network_latency_(from_seconds(platform.leaf.latency_s)),
      first_nic_(2 * static_cast<std::uint32_t>(platform.workers())) {
  resources_.assign(first_nic_, {InverseBandwidth(platform.peer.bytes_per_s)});
  resources_.resize(first_nic_ + 2 * static_cast<std::size_t>(platform.nodes),
                    {InverseBandwidth(platform.leaf.bytes_per_s)});
}

Time FifoNetwork::latency(int from, int to) const { return node_of(from) == node_of(to) ? node_latency_ : network_latency_; }

Time FifoNetwork::start(int from, int to, std::int64_t bytes, Delivery& receiver, std::uint64_t message) {
  const std::uint32_t index = new_flight();
  Flight& flight = flights_[index];
  flight = {};
  flight.bytes = bytes;
  flight.receiver = &receiver;
  flight.message = message;
  flight.actor = static_cast<std::uint32_t>(to);
  const auto hop = [&](std::uint32_t resource, Time latency) { flight.path[flight.hops++] = {resource, latency}; };
  const auto out = 2 * static_cast<std::uint32_t>(from), in = 2 * static_cast<std::uint32_t>(to) + 1;
  if (node_of(from) == node_of(to)) {
    hop(out, node_latency_);
    hop(in, 0);
  } else {
    hop(out, 0);
    hop(first_nic_ + 2 * static_cast<std::uint32_t>(node_of(from)), network_latency_);
    hop(first_nic_ + 2 * static_cast<std::uint32_t>(node_of(to)) + 1, 0);
    hop(in, 0);
  }
  cross(index);
  return resources_[flight.path[0].resource].free;
}

void FifoNetwork::cross(std::uint32_t index) {
  Flight& flight = flights_[index];
  const Hop hop = flight.path[static_cast<std::size_t>(flight.at++)];
  Resource& resource = resources_[hop.resource];
  const Time begin = std::max(engine_.now(), resource.free);
  resource.free = begin + resource.bandwidth.time_of(flight.bytes);
  flight.tail = std::max(resource.free, flight.tail) + hop.latency;
  if (flight.at < flight.hops) return engine_.schedule(begin + hop.latency, flight.actor, *this, index);
  unused_flights_.push_back(index);
  flight.receiver->arrives(flight.message, flight.tail);
}

void FifoNetwork::fire(std::uint64_t flight) { cross(static_cast<std::uint32_t>(flight)); }

std::uint32_t FifoNetwork::new_flight() {
  if (unused_flights_.empty()) {
    flights_.emplace_back();
    return static_cast<std::uint32_t>(flights_.size() - 1);
  }
  const std::uint32_t index = unused_flights_.back();
  unused_flights_.pop_back();
  return index;
}

}  // namespace paragrad::sim
