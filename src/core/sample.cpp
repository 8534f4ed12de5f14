#include "core/sample.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace paragrad::core {
namespace {

/// The 97.5 % quantile of Student's t for 1, 2, … degrees of freedom. For more than these, that of the last is a little
/// wide.
constexpr std::array student_975{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                 2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                 2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};

}  // namespace

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation_of(std::span<const double> values) {
  if (values.size() < 2) return NAN;
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double half_width_95(std::span<const double> values) {
  if (values.size() < 2) return NAN;
  const double t = student_975.at(std::min(values.size() - 1, student_975.size()) - 1);
  return t * deviation_of(values) / std::sqrt(static_cast<double>(values.size()));
}

}  // namespace paragrad::core
