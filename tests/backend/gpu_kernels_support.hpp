#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "backend/gpu_kernels/grid.hpp"
#include "tests/backend/support.hpp"

/// For kernels of GPUs that the host runs.
namespace paragrad::backend::testing {

inline constexpr float infinity = std::numeric_limits<float>::infinity();

inline const auto forwards = [](const auto& kernel) { gpu_kernels::run_on_host(kernel); };
inline const auto backwards = [](const auto& kernel) { gpu_kernels::run_on_host(kernel, true); };

struct Memory {
  std::vector<double> numbers;  // aligned as scratch is
  explicit Memory(std::size_t bytes) : numbers((bytes + 7) / 8, std::numeric_limits<double>::quiet_NaN()) {}
  std::byte* data() { return reinterpret_cast<std::byte*>(numbers.data()); }
};

/// The same bits, or NaN on both sides.
inline bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](float x, float y) {
           return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y) || (std::isnan(x) && std::isnan(y));
         });
}

/// Small multiples of a power of two, whose sums are exact in any order.
inline std::vector<float> coarse_numbers(std::size_t count, std::uint32_t stream) {
  auto numbers = random_numbers(count, stream);
  for (float& number : numbers) number = std::round(64 * number) / 32;
  return numbers;
}

}  // namespace paragrad::backend::testing
