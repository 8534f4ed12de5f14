#pragma once

#include <cmath>
#include <cstddef>

namespace paragrad::core {

/// The smallest whole number that is at least share·count: 7 of 100 for 0.07, though in floating point 0.07·100 is above 7.
inline std::size_t share_of(double share, std::size_t count) {
  constexpr double rounding = 1e-15;  // of the share and of the product, relative
  const double product = share * static_cast<double>(count), nearest = std::round(product);
  return static_cast<std::size_t>(std::abs(product - nearest) <= rounding * product ? nearest : std::ceil(product));
}

}  // namespace paragrad::core
