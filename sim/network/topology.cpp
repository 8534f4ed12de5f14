#include "sim/network/topology.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "core/format.hpp"

namespace paragrad::sim {
namespace {

// A message staged in host memory is written to it and read from it.
constexpr double passes_of_staging = 2;

InverseBandwidth inverse(double bytes_per_s) { return bytes_per_s > 0 ? InverseBandwidth(bytes_per_s) : InverseBandwidth(); }

bool any_fault(const Platform& platform, Platform::Fault::Kind kind) {
  return std::any_of(platform.faults.begin(), platform.faults.end(),
                     [&](const Platform::Fault& fault) { return fault.kind == kind; });
}

}  // namespace

Topology::Topology(const Platform& platform, int workers, Resources& resources)
    : resources_(resources),
      workers_(workers),
      devices_(std::min(workers, platform.workers())),
      devices_per_node_(platform.devices_per_node),
      sockets_(platform.sockets_per_node),
      nics_(platform.leaf.nics_per_node),
      nodes_per_leaf_(platform.nodes_per_leaf),
      self_(from_seconds(platform.self.value_or(platform.peer).latency_s)),
      peer_(from_seconds(platform.peer.latency_s)),
      node_(from_seconds(platform.node.latency_s)),
      leaf_(from_seconds(platform.leaf.latency_s)),
      core_(from_seconds(platform.core_latency_s)),
      between_sockets_(inverse(platform.node.bytes_per_s)),
      staged_(platform.host.staged),
      size_classes_(platform.size_classes) {
  if (size_classes_.empty() || size_classes_.front().from_bytes > 0) size_classes_.insert(size_classes_.begin(), {0, 1, 1});
  add_resources(platform);
  add_switches(platform);
  add_faults(platform);
}

void Topology::add_resources(const Platform& platform) {
  const auto devices = static_cast<std::size_t>(devices_), nodes = static_cast<std::size_t>(nodes_in_use());
  device_links_.first = resources_.add(2 * devices, platform.peer.bytes_per_s);
  if (workers_ > devices_ && platform.self) copies_.first = resources_.add(devices, platform.self->bytes_per_s);
  if (sockets_ > 1 && platform.node.shared_bytes_per_s > 0)
    socket_links_.first = resources_.add_shared(2 * nodes, platform.node.shared_bytes_per_s, platform.node.bytes_per_s);
  if (platform.host.staged || platform.host.reduces)
    host_memories_.first = resources_.add(nodes, platform.host.bytes_per_s / passes_of_staging);
  if (nodes > 1) nic_links_.first = resources_.add(2 * nodes * static_cast<std::size_t>(nics_), platform.leaf.bytes_per_s);
}

void Topology::add_switches(const Platform& platform) {
  const int leaves = leaf_of(nodes_in_use() - 1) + 1;
  if (leaves == 1) return;
  const double nic = platform.leaf.bytes_per_s;
  const auto all_nics = [&](int nodes) { return static_cast<double>(nodes) * nics_ * nic; };
  if (platform.taper > 1 || any_fault(platform, Platform::Fault::Kind::uplink))
    uplinks_.first =
        resources_.add_shared(2 * static_cast<std::size_t>(leaves), all_nics(nodes_per_leaf_) / platform.taper, nic);
  if (platform.spine_bytes_per_s > 0 && platform.spine_bytes_per_s < all_nics(nodes_in_use()))
    spine_.first = resources_.add_shared(1, platform.spine_bytes_per_s, nic);
}

void Topology::add_faults(const Platform& platform) {
  const auto in_use = [&](const Platform::Fault& fault) {
    switch (fault.kind) {
      case Platform::Fault::Kind::device_link:
        return std::pair(device_links_, fault.id < devices_);
      case Platform::Fault::Kind::nic:
        return std::pair(nic_links_, nic_links_.exists() && fault.id < nodes_in_use() * nics_);
      case Platform::Fault::Kind::uplink:
        return std::pair(uplinks_, uplinks_.exists() && fault.id <= leaf_of(nodes_in_use() - 1));
      default:
        return std::pair(Group{}, false);
    }
  };
  for (const Platform::Fault& fault : platform.faults)
    if (const auto [group, used] = in_use(fault); used)
      for (const Direction direction : {out, in})
        resources_.slow(group.of(fault.id, direction), from_seconds(fault.at_s), end_of(fault), fault.factor);
}

std::string Topology::name_of(Resources::Id resource) const {
  // The resources of a kind follow each other, so the last kind that begins before this one has it.
  const auto in_group = [&](const Group& group) { return group.exists() && group.first <= resource; };
  struct Kind {
    Group group;
    bool both_ways;
    std::function<std::string(unsigned)> name;
  };
  const auto numbered = [](const char* what) {
    return [what](unsigned index) { return core::format("{} {}", what, index); };
  };
  const auto nics = static_cast<unsigned>(nics_);
  const Kind kinds[] = {
      {spine_, false, [](unsigned) { return std::string("spine"); }},
      {uplinks_, true, numbered("uplinks of leaf switch")},
      {nic_links_, true, [&](unsigned index) { return core::format("NIC {} of node {}", index % nics, index / nics); }},
      {host_memories_, false, numbered("host memory of node")},
      {socket_links_, true, numbered("connection of the sockets of node")},
      {copies_, false, numbered("copies within device")},
      {device_links_, true, numbered("link of device")}};
  for (const Kind& kind : kinds)
    if (in_group(kind.group)) {
      const unsigned index = resource - kind.group.first;
      if (!kind.both_ways) return kind.name(index);
      return core::format("{}, {}", kind.name(index / 2), index % 2 == out ? "out" : "in");
    }
  throw std::logic_error("a resource of no kind");
}

Route Topology::route(int from_rank, int to_rank, std::int64_t bytes) const {
  const int from = device_of(from_rank), to = device_of(to_rank);
  const Platform::SizeClass& factors = size_class(bytes);
  Route route;
  route.bytes = factors.bandwidth_factor == 1 ? bytes : std::llround(static_cast<double>(bytes) / factors.bandwidth_factor);
  route.latency = latency_of(from, to, factors);
  if (from == to && copies_.exists()) {
    route.add(copies_.of(from));
    return route;
  }
  const int node = node_of(from);
  route.add(device_links_.of(from, out));
  add_host(route, node);
  if (node != node_of(to)) {
    add_network(route, from, to);
  } else {
    add_socket_crossing(route, node, socket_of(from), socket_of(to));
    route.wire = static_cast<std::uint8_t>(route.hops - 1);
    if (socket_of(from) != socket_of(to)) route.at_least = between_sockets_.time_of(route.bytes);
  }
  route.add(device_links_.of(to, in));
  return route;
}

void Topology::add_network(Route& route, int from, int to) const {
  const int from_nic = nic_of(from), to_nic = nic_of(to), from_node = node_of(from), to_node = node_of(to);
  const int from_leaf = leaf_of(from_node), to_leaf = leaf_of(to_node);
  add_socket_crossing(route, from_node, socket_of(from), socket_of_nic(from_nic));
  route.add(nic_links_.of(from_node * nics_ + from_nic, out));
  const bool through_core = from_leaf != to_leaf;
  if (through_core && uplinks_.exists()) route.add(uplinks_.of(from_leaf, out));
  if (through_core && spine_.exists()) route.add(spine_.of(0));
  route.wire = static_cast<std::uint8_t>(route.hops - 1);
  if (through_core && uplinks_.exists()) route.add(uplinks_.of(to_leaf, in));
  route.add(nic_links_.of(to_node * nics_ + to_nic, in));
  add_socket_crossing(route, to_node, socket_of_nic(to_nic), socket_of(to));
  add_host(route, to_node);
}

void Topology::add_host(Route& route, int node) const {
  if (staged_) route.add(host_memories_.of(node));
}

void Topology::add_socket_crossing(Route& route, int node, int from, int to) const {
  if (from != to && socket_links_.exists()) route.add(socket_links_.of(node, from < to ? out : in));
}

Time Topology::level_latency(int from, int to) const {
  if (from == to) return self_;
  if (node_of(from) == node_of(to)) return socket_of(from) == socket_of(to) ? peer_ : node_;
  return leaf_of(node_of(from)) == leaf_of(node_of(to)) ? leaf_ : core_;
}

Time Topology::latency_of(int from, int to, const Platform::SizeClass& factors) const {
  const Time latency = level_latency(from, to);
  if (factors.latency_factor == 1) return latency;
  return std::max<Time>(1, from_picoseconds(static_cast<double>(latency) * factors.latency_factor));
}

Time Topology::latency(int from, int to) const { return latency_of(device_of(from), device_of(to), size_classes_.front()); }

Time Topology::least_latency() const {
  Time level = std::min(self_, peer_);
  if (sockets_ > 1) level = std::min(level, node_);
  if (nodes_in_use() > 1) level = std::min(level, leaf_);
  if (leaf_of(nodes_in_use() - 1) > 0) level = std::min(level, core_);
  double factor = 1;
  for (const Platform::SizeClass& factors : size_classes_) factor = std::min(factor, factors.latency_factor);
  return static_cast<Time>(static_cast<double>(level) * factor);
}

const Platform::SizeClass& Topology::size_class(std::int64_t bytes) const {
  std::size_t found = 0;
  while (found + 1 < size_classes_.size() && size_classes_[found + 1].from_bytes <= bytes) ++found;
  return size_classes_[found];
}

Time Topology::pass_host_memory(int rank, std::int64_t bytes, Time now) {
  const auto staged = static_cast<std::int64_t>(std::llround(static_cast<double>(bytes) / passes_of_staging));
  return resources_.take(host_memories_.of(node_of(device_of(rank))), now, staged).end;
}

}  // namespace paragrad::sim
