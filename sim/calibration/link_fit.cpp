#include "sim/calibration/link_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace paragrad::sim::calibration {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// What a platform file takes.
constexpr double shortest_latency_s = 1e-9;
constexpr double least_s_per_byte = 1e-18;

constexpr std::size_t least_points = 3;  // of a stretch
constexpr double cost_of_stretch = 8;
constexpr double most_of_point = 9;  // one point, however far off, is not worth two more stretches

struct Line {
  double latency_s = 0;
  double s_per_byte = 0;

  double at(double bytes) const { return latency_s + s_per_byte * bytes; }
};

/// Least squares of (latency + slope * bytes) / seconds - 1 over points[first … last].
Line lay(const std::vector<LinkPoint>& points, std::size_t first, std::size_t last) {
  double ww = 0, wx = 0, xx = 0, w1 = 0, x1 = 0;  // sums of products of w = 1/seconds, x = bytes/seconds and 1
  for (std::size_t i = first; i <= last; ++i) {
    const double w = 1 / points[i].seconds, x = static_cast<double>(points[i].bytes) * w;
    ww += w * w, wx += w * x, xx += x * x, w1 += w, x1 += x;
  }
  Line line;
  const double determinant = ww * xx - wx * wx;
  if (determinant > 1e-12 * ww * xx) {
    line.latency_s = (w1 * xx - x1 * wx) / determinant;
    line.s_per_byte = (x1 * ww - w1 * wx) / determinant;
  } else {
    line.latency_s = w1 / ww;  // one length only
  }
  if (line.s_per_byte < least_s_per_byte) line.latency_s = w1 / ww, line.s_per_byte = least_s_per_byte;
  if (line.latency_s < shortest_latency_s) {
    line.latency_s = shortest_latency_s;
    line.s_per_byte = std::max(least_s_per_byte, (x1 - shortest_latency_s * wx) / xx);
  }
  return line;
}

/// Cost of what the line leaves of points[first … last].
double cost_of(const Line& line, const std::vector<LinkPoint>& points, std::size_t first, std::size_t last,
               double tolerance) {
  double cost = 0;
  for (std::size_t i = first; i <= last; ++i) {
    const double error = (line.at(static_cast<double>(points[i].bytes)) / points[i].seconds - 1) / tolerance;
    cost += std::min(error * error, most_of_point);
  }
  return cost;
}

std::vector<LinkPoint> without_noise(std::vector<LinkPoint> points) {
  for (std::size_t i = points.size() - 1; i > 0; --i)
    points[i - 1].seconds = std::min(points[i - 1].seconds, points[i].seconds);
  return points;
}

struct Cut {
  std::size_t first = 0;  // of the last stretch
  double cost = infinity;
  Line line;
};

/// The best way to cut points[0 … i], for each i.
std::vector<Cut> best_cuts(const std::vector<LinkPoint>& points, double tolerance) {
  std::vector<Cut> best(points.size());
  for (std::size_t last = 0; last < points.size(); ++last)
    for (std::size_t first = 0; first <= last; ++first) {
      if (first > 0 && last - first + 1 < least_points) break;  // too short, unless it is all there is
      const Line line = lay(points, first, last);
      const double before = first == 0 ? 0 : best[first - 1].cost;
      const double cost = before + cost_of_stretch + cost_of(line, points, first, last, tolerance);
      if (cost < best[last].cost) best[last] = {first, cost, line};
    }
  return best;
}

/// Where one line changes to the next: where they cross, if that is between the last point of one and the first of the
/// other, otherwise at the latter.
std::size_t boundary(const Line& before, const Line& after, std::size_t last_before, std::size_t first_after) {
  const double slope = before.s_per_byte - after.s_per_byte;
  const double crossing = slope == 0 ? infinity : std::ceil((after.latency_s - before.latency_s) / slope);
  const bool between = crossing > static_cast<double>(last_before) && crossing < static_cast<double>(first_after);
  return between ? static_cast<std::size_t>(crossing) : first_after;
}

}  // namespace

double LinkFit::seconds(std::size_t bytes) const {
  Platform::SizeClass found;
  for (const Platform::SizeClass& size_class : classes)
    if (static_cast<std::int64_t>(bytes) >= size_class.from_bytes) found = size_class;
  return link.latency_s * found.latency_factor + static_cast<double>(bytes) / (link.bytes_per_s * found.bandwidth_factor);
}

LinkFit fit_link(const std::vector<LinkPoint>& measured, double tolerance) {
  if (measured.size() < 2) throw std::logic_error("a line through fewer than two points");
  const std::vector<LinkPoint> points = without_noise(measured);
  const std::vector<Cut> best = best_cuts(points, tolerance);
  std::vector<Cut> stretches;
  for (std::size_t end = points.size(); end > 0; end = stretches.back().first) stretches.push_back(best[end - 1]);
  std::ranges::reverse(stretches);

  LinkFit fit{{stretches.front().line.latency_s, 1 / stretches.back().line.s_per_byte}, {}};
  if (stretches.size() == 1) return fit;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    const Line& line = stretches[i].line;
    const std::size_t first = stretches[i].first;
    const std::size_t from =
        i == 0 ? 0 : boundary(stretches[i - 1].line, line, points[first - 1].bytes, points[first].bytes);
    fit.classes.push_back({static_cast<std::int64_t>(from), line.latency_s / fit.link.latency_s,
                           1 / (line.s_per_byte * fit.link.bytes_per_s)});
  }
  return fit;
}

}  // namespace paragrad::sim::calibration
