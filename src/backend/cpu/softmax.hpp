#pragma once

#include <cstddef>

#include "backend/cpu/vector.hpp"

/// The two halves of a softmax.
namespace paragrad::backend::cpu {

/// Largest element; NaN may be ignored.
inline float largest_of(std::size_t count, const float* row) {
  Vector best = broadcast(row[0]);
  std::size_t j = 0;
  for (; j + lanes <= count; j += lanes) {
    const Vector z = load(row + j);
    best = z > best ? z : best;
  }
  float largest = row[0];
  for (std::size_t l = 0; l < lanes; ++l) largest = best[l] > largest ? best[l] : largest;
  for (; j < count; ++j) largest = row[j] > largest ? row[j] : largest;
  return largest;
}

/// row = exp(row - largest); returns the sum.
inline float exponentiate(std::size_t count, float largest, float* row) {
  Vector sums{};
  std::size_t j = 0;
  for (; j + lanes <= count; j += lanes) {
    const Vector e = exponential(load(row + j) - largest);
    store(e, row + j);
    sums += e;
  }
  float sum = 0;
  for (std::size_t l = 0; l < lanes; ++l) sum += sums[l];
  if (j == count) return sum;
  const Vector rest = exponential(load_part(row + j, count - j) - largest);
  store_part(rest, row + j, count - j);
  for (std::size_t l = 0; l < count - j; ++l) sum += rest[l];
  return sum;
}

}  // namespace paragrad::backend::cpu
