#include "backend/kernels/quantise.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "backend/code_formulas.hpp"
#include "backend/kernel.hpp"

// The codes of backend/quantiser.hpp as plain loops over backend/code_formulas.hpp, statistics in double.
namespace paragrad::backend {

namespace {

CodeScale two_levels(bool threshold_at_mean, const std::vector<float>& u) {
  CodeScale scale;
  if (threshold_at_mean) {
    double sum = 0;
    for (const float value : u) sum += value;
    scale.threshold = mean_of_sum(sum, u.size());
  }
  double sums[2] = {};
  std::size_t counts[2] = {};
  for (const float value : u) {
    const bool bit = value >= scale.threshold;
    sums[bit] += value;
    counts[bit] += 1;
  }
  scale.header = header_of_levels(mean_of_sum(sums[0], counts[0]), mean_of_sum(sums[1], counts[1]));
  return scale;
}

std::uint32_t step_header(Code code, const std::vector<float>& u) {
  if (code == Code::bits16) {
    std::uint32_t largest = 0;
    for (const float value : u) largest = std::max(largest, size_bits(value));
    return header_of_largest(largest);
  }
  double squares = 0;
  for (const float value : u) squares += double{value} * value;
  return header_of_squares(code, squares, u.size());
}

CodeScale scale_of(const Quantiser& quantiser, const std::vector<float>& u) {
  if (quantiser.code == Code::bits1) return two_levels(quantiser.threshold_at_mean, u);
  if (header_bytes(quantiser.code) == 0) return {0, header_of_unit(quantiser)};
  return {0, step_header(quantiser.code, u)};
}

}  // namespace

void Quantise::reference() const {
  const std::size_t bits = bits_of(quantiser.code), header = header_bytes(quantiser.code);
  std::vector<float> u(rows);
  std::vector<std::uint32_t> words((rows * columns * bits + 31) / 32);
  for (std::size_t j = 0; j < columns; ++j) {
    for (std::size_t r = 0; r < rows; ++r)
      u[r] = residual.empty() ? x[j * rows + r] : x[j * rows + r] + residual[j * rows + r];
    const CodeScale scale = scale_of(quantiser, u);
    for (std::size_t r = 0; r < rows; ++r) {
      const std::uint32_t coded = encode(quantiser.code, scale, u[r]);
      const std::size_t bit = (j * rows + r) * bits;
      words[bit / 32] |= coded << (bit % 32);
      if (!saturated.empty() && saturates(quantiser, u[r])) ++saturated[0];
      if (!residual.empty()) residual[j * rows + r] = u[r] - decode(quantiser.code, scale.header, coded);
    }
    if (header > 0) std::memcpy(packed.data() + j * header, &scale.header, header);
  }
  if (!words.empty()) std::memcpy(packed.data() + columns * header, words.data(), 4 * words.size());
}

void Dequantise::reference() const {
  const std::size_t bits = bits_of(quantiser.code), header_size = header_bytes(quantiser.code);
  for (std::size_t i = 0; i < rows * columns; ++i) {
    std::uint32_t header = header_of_unit(quantiser), word;
    if (header_size > 0) std::memcpy(&header, packed.data() + i / rows * header_size, header_size);
    std::memcpy(&word, packed.data() + columns * header_size + 4 * (i * bits / 32), 4);
    const std::uint32_t coded = word >> (i * bits % 32) & ((1u << bits) - 1);
    x[i] = accumulate(decode(quantiser.code, header, coded), keep, x[i]);
  }
}

}  // namespace paragrad::backend
