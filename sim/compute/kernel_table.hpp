#pragma once

#include <array>
#include <string>
#include <vector>

#include "backend/call_times.hpp"

namespace paragrad::sim {

/// Measured times of one kernel on a grid of sizes (backend::CallSize). A streaming kernel has points along the first axis
/// only and {1} along the others.
///
/// Between points the time is interpolated linearly in each size, like overhead + bytes/bandwidth + flops/rate. Below the
/// first point of an axis it is constant, beyond the last it grows in proportion to the size.
struct KernelTable {
  std::string kernel;                        ///< backend::kernel_name
  std::array<std::vector<double>, 3> sizes;  ///< ascending, at least 1
  std::vector<double>
      time_s;  ///< [sizes 0][sizes 1][sizes 2], the last index varies fastest; non-decreasing along each axis

  double seconds(const backend::CallSize& size) const;

  /// What is wrong with the table, or "". Checks that axes ascend, that there is a time for each point, and that times do
  /// not decrease along an axis.
  std::string mistake() const;
};

}  // namespace paragrad::sim
