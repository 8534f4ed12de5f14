#pragma once

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <span>
#include <vector>

#include "backend/kernels/fill.hpp"
#include "comm/worker.hpp"
#include "sim/engine/time.hpp"
#include "sim/simulation.hpp"

namespace paragrad::sim::testing {

/// Nodes joined by links of `network`, devices of one node by `node`; arithmetic costs nothing.
inline Platform platform_of(int nodes, int devices_per_node, Link node, Link network, std::int64_t eager_bytes = 65536) {
  Platform platform;
  platform.name = "test";
  platform.nodes = nodes;
  platform.devices_per_node = devices_per_node;
  platform.device = {1e30, 1e30, 1, 1, 0};
  platform.peer = node;
  platform.leaf = {network, 1};
  platform.message.eager_bytes = eager_bytes;
  return platform;
}

/// One device per node and a device link of the network's speed: nobody stands in anybody's way.
inline Platform uncontended(int workers, Link link, std::int64_t eager_bytes = 65536) {
  return platform_of(workers, 1, link, link, eager_bytes);
}

/// On whose devices pass_time() takes 4 ns per float, and a sum 12.
inline Platform timed(Platform platform, double launch_s = 0) {
  platform.device = {1e12, 1e9, 1, 1, launch_s};
  return platform;
}
inline constexpr std::size_t floats_per_us = 250;
inline constexpr Link wire{1e-6, 1e9};

inline Time simulated_time(comm::Worker& worker) { return from_seconds(worker.comm().now_s()); }

/// When the workers of a run end and what they send and receive: all that tells it from another where nothing is computed.
struct Course {
  std::vector<Time> ends;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::vector<comm::Traffic> traffic{};  // of each worker
  std::string busiest_link{};
  double busiest_share = 0;
  bool operator==(const Course&) const = default;
};

/// α + n/B in picoseconds, computed apart from the simulator's fixed-point arithmetic.
inline double message_ps(Link link, double bytes) { return (link.latency_s + bytes / link.bytes_per_s) * 1e12; }

/// Work of one streaming kernel that moves `bytes`.
inline backend::WorkMeter streaming(std::uint64_t bytes) {
  backend::WorkMeter work;
  work.add(backend::KernelKind::streaming, 0, bytes);
  return work;
}

/// Lets simulated time pass, on a timed() platform 4 ns per float.
inline void pass_time(comm::Worker& worker, std::size_t floats) {
  std::vector<float> zeros(floats);
  worker.run_kernels([&](backend::KernelQueue& queue) { queue.run(backend::Fill{0, zeros}); });
}

/// A place where host threads wait for each other, but not forever.
class Meeting {
 public:
  explicit Meeting(int expected) : expected_(expected) {}

  /// Whether everybody came within the time.
  bool wait(std::chrono::milliseconds at_most = std::chrono::seconds(20)) {
    std::unique_lock lock(mutex_);
    if (++present_ == expected_) all_here_.notify_all();
    return all_here_.wait_for(lock, at_most, [this] { return present_ >= expected_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  int expected_;
  int present_ = 0;
};

}  // namespace paragrad::sim::testing
