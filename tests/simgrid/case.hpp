#pragma once

#include <cstdint>
#include <string>

namespace paragrad::test {

/// A ring allreduce's 2(N-1) steps: every worker sends a stripe of total_bytes / N to the worker `stride` further and waits
/// for the one that comes. The platform, the same for both simulators: N/8 nodes of 8 devices, per direction a link of each
/// device and a NIC of each node, perhaps a spine that all traffic between nodes shares.
struct Case {
  static constexpr int devices_per_node = 8;
  static constexpr double device_bytes_per_s = 12e9, nic_bytes_per_s = 6e9;
  static constexpr double hop_latency_s = 0.5e-6;  // of a device link and of a NIC, per direction
  static constexpr std::int64_t total_bytes = 100'000'000;
  static constexpr std::int64_t longest_delay_ns = 100'000;

  int workers = 16;
  int stride = 1;                // devices_per_node: every message crosses nodes, eight flows share a NIC
  double spine_bytes_per_s = 0;  // 0: none
  bool jitter = false;           // a delay before each send

  int steps() const { return 2 * (workers - 1); }
  std::int64_t messages() const { return std::int64_t{workers} * steps(); }
  std::int64_t stripe_bytes() const { return total_bytes / workers; }

  /// Delay of a worker before the send of a step: a hash, so that both simulators see the same.
  std::int64_t delay_ns(int rank, int step) const {
    if (!jitter) return 0;
    std::uint64_t x = static_cast<std::uint64_t>(rank) << 32 | static_cast<std::uint32_t>(step);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;  // the finaliser of SplitMix64
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    x ^= x >> 31;
    return static_cast<std::int64_t>(x % longest_delay_ns);
  }
};

struct Outcome {
  double simulated_s = 0;
  double host_s = 0;  // processor time of the simulation
};

Outcome in_simgrid(const Case& ring);
Outcome in_paragrad(const Case& ring);

}  // namespace paragrad::test
