#pragma once

#include <string>
#include <vector>

#include "sim/platform.hpp"

namespace paragrad::sim::calibration {

/// A platform file with what a calibration finds out: cluster, device and its kernels, links, messages, size classes.
/// Times and rates have four significant digits. remarks: lines of comment at its head.
std::string platform_text(const Platform& platform, const std::vector<std::string>& remarks);

}  // namespace paragrad::sim::calibration
