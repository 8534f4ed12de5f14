#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "comm/worker.hpp"
#include "sim/compute/kernel_table.hpp"

namespace paragrad::sim::calibration {

/// Sizes at which kernels are measured, and how long. What stands here is for a processor's core.
struct KernelGrid {
  /// For a GPU about as far as the networks go that are trained on one.
  static KernelGrid of(const backend::Device& device);

  std::vector<double> batch{1, 8, 32, 64, 256};
  std::vector<double> width{10, 64, 256, 512, 1024};  ///< of inputs and of outputs
  std::vector<double> bytes{1e3, 1e4, 1e5, 1e6, 4e6, 16e6, 64e6};
  int passes = 12;          ///< over all points; the fastest counts
  double burst_s = 0.3e-3;  ///< of calls at one point in one pass
};

/// Measures the kernels of the workers' device that training uses, at all workers at the same time: what they share (memory,
/// clock frequency) they share while training too. The mean over the workers, the same table on each of them.
///
/// Of each point the fastest of several passes counts, apart in time as each pass goes over all points: neighbours on a
/// shared machine disturb some of them only. Arrays of activations are those of the call before, as they are when training;
/// arrays of parameters lie a model apart, so that they are found in the cache that a model of some MB is found in.
///
/// progress: told before each pass (pass, passes). Collective.
std::vector<KernelTable> measure_kernels(comm::Worker& worker, const KernelGrid& grid,
                                         const std::function<void(int, int)>& progress);

}  // namespace paragrad::sim::calibration
