#include "backend/reference/select.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "backend/code_formulas.hpp"

namespace paragrad::backend::reference {

void write_pair(std::byte* packed, std::size_t i, std::uint32_t index, float value) {
  std::memcpy(packed + 8 * i, &index, 4);
  std::memcpy(packed + 8 * i + 4, &value, 4);
}

void select_largest(std::size_t keep, std::size_t count, const float* x, float* residual, std::byte* packed) {
  std::vector<float> u(x, x + count);
  if (residual)
    for (std::size_t i = 0; i < count; ++i) u[i] = x[i] + residual[i];
  const auto size = [&](std::uint32_t i) { return size_bits(u[i]); };

  std::vector<std::uint32_t> indices(count);
  std::iota(indices.begin(), indices.end(), 0);
  std::stable_sort(indices.begin(), indices.end(), [&](std::uint32_t i, std::uint32_t j) { return size(i) > size(j); });
  indices.resize(keep);
  std::sort(indices.begin(), indices.end());

  for (std::size_t i = 0; i < keep; ++i) write_pair(packed, i, indices[i], u[indices[i]]);
  for (const std::uint32_t index : indices) u[index] = 0;
  if (residual) std::copy(u.begin(), u.end(), residual);
}

void scatter_add(std::size_t pairs, const std::byte* packed, float keep, std::size_t count, float* x) {
  if (keep == 0) std::fill_n(x, count, 0.f);
  std::uint32_t before = 0;
  for (std::size_t i = 0; i < pairs; ++i) {
    std::uint32_t index;
    float value;
    std::memcpy(&index, packed + 8 * i, 4);
    std::memcpy(&value, packed + 8 * i + 4, 4);
    if (index >= count) throw std::out_of_range("a pair names no element");
    if (i > 0 && index <= before) throw std::logic_error("the pairs are not in the order of their elements");
    before = index;
    x[index] += value;
  }
}

}  // namespace paragrad::backend::reference
