#pragma once

#include <string>
#include <vector>

#include "sim/platform.hpp"

namespace paragrad::sim::calibration {

/// The text of a platform file with the results of a calibration: cluster, device and its kernels, links, messages, size
/// classes. Times and rates have four significant digits. remarks: comment lines at its head.
std::string platform_text(const Platform& platform, const std::vector<std::string>& remarks);

}  // namespace paragrad::sim::calibration
