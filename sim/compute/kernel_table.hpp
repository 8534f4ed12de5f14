#pragma once

#include <array>
#include <string>
#include <vector>

#include "backend/call_times.hpp"

namespace paragrad::sim {

/// Measured times of one kernel on a grid of sizes (backend::CallSize). A kernel that streams has points along the first
/// axis alone and {1} along the others.
///
/// Between the points a time is linear in each size, as overhead + bytes/bandwidth + flops/rate is. Below the first point
/// of an axis it stays what it is there, beyond the last it grows in proportion.
struct KernelTable {
  std::string kernel;                        ///< backend::kernel_name
  std::array<std::vector<double>, 3> sizes;  ///< ascending, at least 1
  std::vector<double> time_s;                ///< [sizes 0][sizes 1][sizes 2], the last fastest; no axis along which it falls

  double seconds(const backend::CallSize& size) const;

  /// What is wrong with the table, or "": axes in order, as many times as points, none falling along an axis.
  std::string mistake() const;
};

}  // namespace paragrad::sim
