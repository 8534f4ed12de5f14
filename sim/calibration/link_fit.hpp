#pragma once

#include <cstddef>
#include <vector>

#include "sim/platform.hpp"

namespace paragrad::sim::calibration {

struct LinkPoint {
  std::size_t bytes = 0;
  double seconds = 0;
};

/// A latency and a bandwidth, with factors on them for message lengths that follow a different line.
struct LinkFit {
  Link link;  ///< latency of the shortest messages, bandwidth of the longest
  std::vector<Platform::SizeClass> classes;

  double seconds(std::size_t bytes) const;
};

/// Fits a piecewise line latency + bytes / bandwidth to the points (at least two, in ascending order of length), by least
/// squares of the relative errors. A piece has at least three points. The fit minimises the sum of the costs: a point costs
/// (its relative error / tolerance) squared, at most nine, a piece eight. Takes O(n^3) time for n points.
///
/// Noise only adds time, so each message's time is first reduced to the shortest time of any longer message.
LinkFit fit_link(const std::vector<LinkPoint>& points, double tolerance);

}  // namespace paragrad::sim::calibration
