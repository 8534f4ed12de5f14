#pragma once

#include <cstddef>
#include <vector>

#include "sim/platform.hpp"

namespace paragrad::sim::calibration {

struct LinkPoint {
  std::size_t bytes = 0;
  double seconds = 0;
};

/// A latency and a bandwidth, and factors on them for lengths at which the measured messages follow another line.
struct LinkFit {
  Link link;  ///< latency of the shortest messages, bandwidth of the longest
  std::vector<Platform::SizeClass> classes;

  double seconds(std::size_t bytes) const;
};

/// Cuts the points (of rising lengths, two at least) into stretches and lays a line latency + bytes / bandwidth through
/// each, least squares of the relative errors. A stretch has three points at least and is cut off where that takes away
/// enough error to be worth it: a point costs (its relative error / tolerance) squared, nine at most, a stretch eight.
/// Cost n^3 for n points.
///
/// Noise only ever adds time, so a message is first taken to last no longer than any longer one did.
LinkFit fit_link(const std::vector<LinkPoint>& points, double tolerance);

}  // namespace paragrad::sim::calibration
