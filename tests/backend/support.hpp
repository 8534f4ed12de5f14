#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "backend/device.hpp"
#include "core/philox.hpp"

namespace paragrad::backend::testing {

inline constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// Uniform in [-1, 1).
template <class Real = float>
std::vector<Real> random_numbers(std::size_t count, std::uint32_t stream) {
  const core::RandomStream random(7, core::Purpose::generator, stream);
  std::vector<Real> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<Real>(2 * random.uniform(i) - 1);
  return numbers;
}

inline std::vector<std::int32_t> random_labels(std::size_t count, std::size_t classes) {
  const core::RandomStream random(11, core::Purpose::generator);
  std::vector<std::int32_t> labels(count);
  for (std::size_t i = 0; i < count; ++i) labels[i] = static_cast<std::int32_t>(random.below(classes, i));
  return labels;
}

inline std::vector<float> poisoned(std::size_t count) { return std::vector<float>(count, not_a_number); }

/// Compared as one truth value: nobody reads a thousand numbers in a failure's text.
inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](float x, float y) {
           return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
         });
}

/// Largest |a - b|; NaN on either side counts as infinite.
template <class A, class B>
double distance(const std::vector<A>& a, const std::vector<B>& b) {
  double largest = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(difference <= largest)) largest = std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
  }
  return largest;
}

/// ‖a - b‖/‖b‖; infinite where one is no number and the other is, or they differ in length.
inline double relative_distance(const std::vector<float>& a, const std::vector<float>& b) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (a.size() != b.size()) return infinite;
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) != std::isnan(b[i])) return infinite;
    if (std::isnan(a[i])) continue;
    difference += std::pow(double{a[i]} - double{b[i]}, 2);
    norm += std::pow(double{b[i]}, 2);
  }
  return std::sqrt(difference / (norm + 1e-30));
}

/// What float32 sums of k products of numbers in [-1, 1] may differ by.
inline double sum_tolerance(std::size_t k) { return 3e-7 * static_cast<double>(k + 4); }

}  // namespace paragrad::backend::testing
