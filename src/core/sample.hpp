#pragma once

#include <span>

namespace paragrad::core {

/// Mean of a sample. NaN if it is empty or one value is NaN; so are the others.
double mean_of(std::span<const double> values);

/// Standard deviation that the sample estimates; NaN for fewer than two values.
double deviation_of(std::span<const double> values);

/// Half of the 95 % confidence interval of the mean (Student's t); NaN for fewer than two values.
double half_width_95(std::span<const double> values);

}  // namespace paragrad::core
