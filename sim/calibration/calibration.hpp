#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/worker.hpp"
#include "sim/calibration/kernel_rates.hpp"
#include "sim/calibration/ping_pong.hpp"
#include "sim/platform.hpp"

namespace paragrad::sim::calibration {

struct CalibrationOptions {
  KernelGrid kernels;
  std::size_t largest_message = 64'000'000;
  std::optional<std::size_t> eager_bytes;  ///< absent: measured by sending to a late receiver (real time only)
  int message_passes = 12;
  double burst_s = 0.5e-3;  ///< of messages of one length in one pass
  double tolerance = 0.1;
  std::string collective = "ring";
};

/// One kind of connection, measured between two workers.
struct Level {
  PingPongOptions between;
  std::vector<MessagePoint> points;
};

struct Calibration {
  Platform platform;          ///< the measured platform, in the simulator's terms
  std::optional<Level> peer;  ///< two workers of one node
  std::optional<Level> leaf;  ///< two workers of different nodes
  std::vector<std::size_t> allreduce_floats;
  std::vector<double> allreduce_s;  ///< for comparison only, not used for the platform
};

/// Measures the machine that the workers run on: the kernels of their device, on all workers at the same time; messages
/// between two workers of a node and between two nodes, if present; allreduces. Nodes are derived from
/// Communicator::workers_per_node.
///
/// Reports progress through `say`, at worker 0. Throws ConfigError if ranks do not fill their nodes in order.
/// Collective; the same result at every worker.
Calibration calibrate(comm::Worker& worker, const CalibrationOptions& options,
                      const std::function<void(const std::string&)>& say);

/// Runs the messages and allreduces of a calibration in the simulator, on `platform`, and returns the simulated points.
Calibration simulate_measurement(const Calibration& measured, const Platform& platform, const CalibrationOptions& options);

}  // namespace paragrad::sim::calibration
