#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/network/pipeline.hpp"
#include "sim/platform.hpp"

namespace paragrad::sim {

/// A platform's resources and the routes over them, computed from the coordinates of the workers: memory grows with the
/// number of devices, not of pairs. A route crosses these resources, if they exist and can limit it:
///
///   same device    device's copy engine
///   same socket    device out | device in
///   other socket   device out, socket connection | device in
///   other node     device out, socket connection to the NIC, NIC out, leaf uplink, spine | leaf downlink, NIC in, …, device
///   in
///
/// If messages are staged, each node's host memory is crossed next to the device, with 2 bytes (written, read) for each byte
/// of the message. The latency is added at the bar. Devices are assigned to sockets and NICs, and NICs to sockets, in order.
/// A leaf switch without taper is not a resource: its uplinks carry everything the NICs can send and receive.
class Topology {
 public:
  /// If there are more workers than devices, consecutive ranks share a device.
  Topology(const Platform& platform, int workers, Resources& resources);

  Route route(int from, int to, std::int64_t bytes) const;

  /// "NIC 0 of node 3, out"
  std::string name_of(Resources::Id resource) const;

  /// A lower bound on the latency of any message between any two workers.
  Time least_latency() const;

  /// The latency of a short message.
  Time latency(int from, int to) const;

  /// Occupies the host memory of a worker's node for `bytes` read or written, starting now. Returns the end time.
  Time pass_host_memory(int rank, std::int64_t bytes, Time now);

 private:
  enum Direction { out, in };
  static constexpr Resources::Id none = ~Resources::Id{0};

  // Resources of one kind; `first` is none if they cannot limit any message.
  struct Group {
    Resources::Id first = none;
    bool exists() const { return first != none; }
    Resources::Id of(int index) const { return first + static_cast<Resources::Id>(index); }
    Resources::Id of(int index, int direction) const { return of(2 * index + direction); }
  };

  void add_resources(const Platform& platform);
  void add_switches(const Platform& platform);
  void add_faults(const Platform& platform);

  int device_of(int rank) const { return sim::device_of(rank, workers_, devices_); }
  int node_of(int device) const { return device / devices_per_node_; }
  int nodes_in_use() const { return (devices_ + devices_per_node_ - 1) / devices_per_node_; }
  int socket_of(int device) const { return device % devices_per_node_ * sockets_ / devices_per_node_; }
  int nic_of(int device) const { return device % devices_per_node_ * nics_ / devices_per_node_; }
  int socket_of_nic(int nic) const { return nic * sockets_ / nics_; }
  int leaf_of(int node) const { return nodes_per_leaf_ == 0 ? 0 : node / nodes_per_leaf_; }
  Time level_latency(int from_device, int to_device) const;
  Time latency_of(int from_device, int to_device, const Platform::SizeClass& factors) const;
  const Platform::SizeClass& size_class(std::int64_t bytes) const;

  void add_host(Route& route, int node) const;
  void add_socket_crossing(Route& route, int node, int from, int to) const;
  void add_network(Route& route, int from_device, int to_device) const;

  Resources& resources_;
  int workers_, devices_, devices_per_node_, sockets_, nics_, nodes_per_leaf_;
  Time self_, peer_, node_, leaf_, core_;  // latencies
  InverseBandwidth between_sockets_;       // of one message
  bool staged_;
  std::vector<Platform::SizeClass> size_classes_;  // the first one from 0 bytes
  Group copies_, device_links_, socket_links_, host_memories_, nic_links_, uplinks_, spine_;
};

}  // namespace paragrad::sim
