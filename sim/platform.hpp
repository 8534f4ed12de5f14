#pragma once

#include <cstdint>
#include <string>

namespace paragrad::sim {

/// One kind of connection: start-up time and bandwidth per direction.
struct Link {
  double latency_s = 0;
  double bytes_per_s = 0;
};

/// A cluster, real or imagined. Nodes are alike; a worker is a device; workers fill the nodes in rank order.
struct Platform {
  std::string name;
  int nodes = 1;
  int devices_per_node = 1;

  struct Device {
    double flops_per_s = 0;        ///< peak, float32
    double bytes_per_s = 0;        ///< memory bandwidth
    double gemm_efficiency = 1;    ///< share of the peak that a matrix product reaches
    double memory_efficiency = 1;  ///< share of the bandwidth that a streaming kernel reaches
    double launch_s = 0;           ///< fixed cost of a kernel
  } device;

  Link node;     ///< between two devices of one node (PCIe, NVLink, shared memory)
  Link network;  ///< between two nodes, through each node's NIC: a resource that its devices share, per direction

  std::int64_t eager_bytes = 65536;  ///< a longer message starts only when its receive is posted

  int workers() const { return nodes * devices_per_node; }
};

/// Reads a platform file (TOML, quantities with units: "9.3us", "4.2GBps"). Throws ConfigError that names file and key:
/// unknown or missing key, value without unit, value out of bounds (bandwidth below 1 kBps, latency below 1 ns).
Platform read_platform(const std::string& path);

/// `workers` devices, each a node of its own, with links and devices that cost no time worth speaking of (1 ns per message).
/// For tests of what is computed rather than of how long it takes.
Platform free_platform(int workers);

}  // namespace paragrad::sim
