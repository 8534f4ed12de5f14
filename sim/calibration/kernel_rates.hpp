#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "comm/worker.hpp"
#include "sim/compute/kernel_table.hpp"

namespace paragrad::sim::calibration {

/// Sizes at which kernels are measured, and for how long. The defaults are for a processor core.
struct KernelGrid {
  /// For a GPU, sizes up to about those of the networks trained on one.
  static KernelGrid of(const backend::Device& device);

  std::vector<double> batch{1, 8, 32, 64, 256};
  std::vector<double> width{10, 64, 256, 512, 1024};  ///< of inputs and of outputs
  std::vector<double> bytes{1e3, 1e4, 1e5, 1e6, 4e6, 16e6, 64e6};
  int passes = 12;                        ///< over all points; the fastest is used
  double burst_s = 0.3e-3;                ///< duration of the calls at one point in one pass
  std::vector<double> heads{1, 4, 16};    ///< of attention
  std::vector<double> head{16, 64, 128};  ///< numbers per head and row
  std::vector<double> context{8, 64, 256, 1024};
};

/// Measures the device kernels that training uses, on all workers at the same time, as they also share resources (memory,
/// clock frequency) in training. Returns the mean over the workers, the same table on each.
///
/// Each point takes the fastest of several passes. Each pass covers all points, so the measurements of a point are spread
/// over time and other users of a shared machine disturb only some of them. Activation arrays are reused from the previous
/// call, as in training; parameter arrays are a model's size apart, so that they come from the cache level that holds a
/// model of some MB.
///
/// progress: called before each pass (pass, passes). Collective.
std::vector<KernelTable> measure_kernels(comm::Worker& worker, const KernelGrid& grid,
                                         const std::function<void(int, int)>& progress);

}  // namespace paragrad::sim::calibration
