#pragma once

#include <cmath>

namespace paragrad::comm::compression {

/// The unit in which fp16 holds sums over `samples`: as means, but for a factor below 2, so that its range does not depend
/// on the minibatch. The factor makes the unit a power of two, which costs no rounding.
inline float unit_of_means(double samples) {
  int exponent = 0;
  const double fraction = std::frexp(samples, &exponent);
  return samples > 0 ? std::ldexp(1.f, fraction == 0.5 ? exponent - 1 : exponent) : 1;
}

}  // namespace paragrad::comm::compression
