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
  if (code == Code::bits16 || code == Code::e3m0) {
    std::uint32_t largest = 0;
    for (const float value : u) largest = std::max(largest, size_bits(value));
    return code == Code::e3m0 ? header_of_step(std::bit_cast<float>(largest)) : header_of_largest(largest);
  }
  double squares = 0;
  for (const float value : u) squares += double{value} * value;
  return header_of_squares(code, squares, u.size());
}

CodeScale scale_of(const Quantiser& quantiser, const std::vector<float>& u) {
  if (quantiser.code == Code::bits1) return two_levels(quantiser.threshold_at_mean, u);
  if (header_bytes(quantiser.code) == 0) return {0, header_of_unit(quantiser)};
  if (!has_bins(quantiser.code)) return {0, step_header(quantiser.code, u)};
  double sum = 0, squares = 0;
  for (const float value : u) {
    sum += value;
    squares += double{value} * value;
  }
  return scale_of_bins(quantiser.code, sum, squares, u.size());
}

/// What is sent of the column before its codes, or would be.
std::vector<std::uint32_t> header_of(Code code, const CodeScale& scale, const std::vector<float>& u) {
  if (!has_bins(code)) return {scale.header};
  std::vector<std::uint32_t> means(std::size_t{1} << bits_of(code));
  for (std::uint32_t bin = 0; bin < means.size(); ++bin) {
    double sum = 0;
    std::size_t count = 0;
    for (const float value : u) {
      if (bin_of(code, scale, value) != bin) continue;
      sum += value;
      count += 1;
    }
    means[bin] = std::bit_cast<std::uint32_t>(mean_of_sum(sum, count));
  }
  return means;
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
    const std::vector<std::uint32_t> first = header_of(quantiser.code, scale, u);
    for (std::size_t r = 0; r < rows; ++r) {
      const std::uint32_t coded = encode(quantiser.code, scale, u[r]);
      const std::size_t bit = (j * rows + r) * bits;
      words[bit / 32] |= coded << (bit % 32);
      if (!saturated.empty() && saturates(quantiser, u[r])) ++saturated[0];
      if (!residual.empty()) residual[j * rows + r] = u[r] - decode(quantiser.code, first.data(), coded);
    }
    if (header > 0) std::memcpy(packed.data() + j * header, first.data(), header);
  }
  if (!words.empty()) std::memcpy(packed.data() + columns * header, words.data(), 4 * words.size());
}

void Dequantise::reference() const {
  const std::size_t bits = bits_of(quantiser.code), header_size = header_bytes(quantiser.code);
  std::vector<std::uint32_t> header(std::max<std::size_t>(header_size / 4, 1), header_of_unit(quantiser));
  for (std::size_t i = 0; i < rows * columns; ++i) {
    std::uint32_t word;
    if (header_size > 0) std::memcpy(header.data(), packed.data() + i / rows * header_size, header_size);
    std::memcpy(&word, packed.data() + columns * header_size + 4 * (i * bits / 32), 4);
    const std::uint32_t coded = word >> (i * bits % 32) & ((1u << bits) - 1);
    x[i] = accumulate(decode(quantiser.code, header.data(), coded), keep, x[i]);
  }
}

}  // namespace paragrad::backend
