#include "backend/kernels/select.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "backend/code_formulas.hpp"

namespace paragrad::backend {

void write_pair(std::byte* packed, std::size_t i, std::uint32_t index, float value) {
  std::memcpy(packed + pair_bytes * i, &index, 4);
  std::memcpy(packed + pair_bytes * i + 4, &value, 4);
}

void SelectLargest::reference() const {
  std::vector<float> u(x.begin(), x.end());
  for (std::size_t i = 0; i < residual.size(); ++i) u[i] = x[i] + residual[i];
  const auto size = [&](std::uint32_t i) { return size_bits(u[i]); };

  std::vector<std::uint32_t> indices(x.size());
  std::iota(indices.begin(), indices.end(), 0);
  std::stable_sort(indices.begin(), indices.end(), [&](std::uint32_t i, std::uint32_t j) { return size(i) > size(j); });
  indices.resize(keep);
  std::sort(indices.begin(), indices.end());

  for (std::size_t i = 0; i < keep; ++i) write_pair(packed.data(), i, indices[i], u[indices[i]]);
  for (const std::uint32_t index : indices) u[index] = 0;
  if (!residual.empty()) std::ranges::copy(u, residual.begin());
}

void ScatterAdd::reference() const {
  if (keep == 0) std::ranges::fill(x, 0.f);
  std::uint32_t before = 0;
  for (std::size_t i = 0; i < pairs(); ++i) {
    std::uint32_t index;
    float value;
    std::memcpy(&index, packed.data() + pair_bytes * i, 4);
    std::memcpy(&value, packed.data() + pair_bytes * i + 4, 4);
    if (index >= x.size()) throw std::out_of_range("a pair names no element");
    if (i > 0 && index <= before) throw std::logic_error("the pairs are not in the order of their elements");
    before = index;
    x[index] += value;
  }
}

}  // namespace paragrad::backend
