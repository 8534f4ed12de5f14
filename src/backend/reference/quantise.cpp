#include "backend/reference/quantise.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "backend/reference/loops.hpp"

namespace paragrad::backend::reference {

namespace {

/// How the elements of one column become codes.
struct Scale {
  float threshold = 0;       // of bits1; not sent
  std::uint32_t header = 0;  // two levels, or a step
};

float level_of(std::uint32_t header, std::uint32_t bit) {
  return from_bfloat16(static_cast<std::uint16_t>(bit ? header >> 16 : header & 0xFFFF));
}

float mean(double sum, std::size_t count) { return count == 0 ? 0 : static_cast<float>(sum / static_cast<double>(count)); }

Scale two_levels(bool threshold_at_mean, const std::vector<float>& u) {
  Scale scale;
  if (threshold_at_mean) {
    double sum = 0;
    for (const float value : u) sum += value;
    scale.threshold = mean(sum, u.size());
  }
  double sums[2] = {};
  std::size_t counts[2] = {};
  for (const float value : u) {
    const bool bit = value >= scale.threshold;
    sums[bit] += value;
    counts[bit] += 1;
  }
  scale.header = to_bfloat16(mean(sums[0], counts[0]));
  scale.header |= std::uint32_t{to_bfloat16(mean(sums[1], counts[1]))} << 16;
  return scale;
}

float step_of(Code code, const std::vector<float>& u) {
  const std::size_t bits = bits_of(code);
  if (code == Code::bits16) {
    std::uint32_t largest = 0;  // as bits, among which NaN is the largest
    for (const float value : u) largest = std::max(largest, std::bit_cast<std::uint32_t>(std::abs(value)));
    return std::bit_cast<float>(largest) / static_cast<float>(largest_multiple(bits));
  }
  double squares = 0;
  for (const float value : u) squares += double{value} * value;
  return step_per_deviation(bits) * std::sqrt(mean(squares, u.size()));
}

Scale scale_of(const Quantiser& quantiser, const std::vector<float>& u) {
  if (quantiser.code == Code::bits1) return two_levels(quantiser.threshold_at_mean, u);
  if (header_bytes(quantiser.code) == 0) return {};
  const float step = step_of(quantiser.code, u);
  return {0, std::bit_cast<std::uint32_t>(step < std::numeric_limits<float>::min() ? 0 : step)};
}

std::uint32_t encode(Code code, const Scale& scale, float u) {
  if (code == Code::bits1) return u >= scale.threshold;
  if (code == Code::fp16) return to_half(u);
  if (code == Code::bf16) return to_bfloat16(u);
  const std::size_t bits = bits_of(code);
  const float step = std::bit_cast<float>(scale.header);
  const float limit = static_cast<float>(largest_multiple(bits));
  float q = step == 0 ? 0 : u * (1 / step);
  q = q < limit ? q : limit;  // also where it is NaN, whose code is any
  q = q > -limit ? q : -limit;
  return static_cast<std::uint32_t>(std::lrint(q)) & ((1u << bits) - 1);
}

float decode(Code code, std::uint32_t header, std::uint32_t coded) {
  if (code == Code::bits1) return level_of(header, coded);
  if (code == Code::fp16) return from_half(static_cast<std::uint16_t>(coded));
  if (code == Code::bf16) return from_bfloat16(static_cast<std::uint16_t>(coded));
  const std::size_t unused = 32 - bits_of(code);
  const std::int32_t q = static_cast<std::int32_t>(coded << unused) >> unused;
  return static_cast<float>(q) * std::bit_cast<float>(header);
}

}  // namespace

std::uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

float from_bfloat16(std::uint16_t code) { return std::bit_cast<float>(std::uint32_t{code} << 16); }

std::uint16_t to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000;
  const float size = std::min(std::abs(value), 65504.f);
  std::uint32_t half;
  if (std::isnan(value)) {
    half = 0x7E00 | (bits >> 13 & 0x3FF);
  } else if (size < 0x1p-14f) {
    half = static_cast<std::uint32_t>(std::lrint(size * 0x1p24f));  // of the denormal numbers' step
  } else {
    const auto size_bits = std::bit_cast<std::uint32_t>(size) - (112u << 23);  // the exponent's bias becomes 15
    half = (size_bits + 0xFFF + (size_bits >> 13 & 1)) >> 13;
  }
  return static_cast<std::uint16_t>(sign | half);
}

float from_half(std::uint16_t code) {
  const std::uint32_t sign = (code & 0x8000u) << 16, exponent = code >> 10 & 0x1F, mantissa = code & 0x3FF;
  if (exponent == 0) return std::copysign(static_cast<float>(mantissa) * 0x1p-24f, std::bit_cast<float>(sign));
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000 | mantissa << 13 | (mantissa ? 1u << 22 : 0));
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

void quantise(const Quantiser& quantiser, std::size_t rows, std::size_t columns, const float* x, float* residual,
              std::byte* packed) {
  const std::size_t bits = bits_of(quantiser.code), header = header_bytes(quantiser.code);
  std::vector<float> u(rows);
  std::vector<std::uint32_t> words((rows * columns * bits + 31) / 32);
  for (std::size_t j = 0; j < columns; ++j) {
    for (std::size_t r = 0; r < rows; ++r) u[r] = residual ? x[j * rows + r] + residual[j * rows + r] : x[j * rows + r];
    const Scale scale = scale_of(quantiser, u);
    for (std::size_t r = 0; r < rows; ++r) {
      const std::uint32_t coded = encode(quantiser.code, scale, u[r]);
      const std::size_t bit = (j * rows + r) * bits;
      words[bit / 32] |= coded << (bit % 32);
      if (residual) residual[j * rows + r] = u[r] - decode(quantiser.code, scale.header, coded);
    }
    if (header > 0) std::memcpy(packed + j * header, &scale.header, header);
  }
  if (!words.empty()) std::memcpy(packed + columns * header, words.data(), 4 * words.size());
}

void dequantise(const Quantiser& quantiser, std::size_t rows, std::size_t columns, const std::byte* packed, float keep,
                float* x) {
  const std::size_t bits = bits_of(quantiser.code), header_size = header_bytes(quantiser.code);
  for (std::size_t i = 0; i < rows * columns; ++i) {
    std::uint32_t header = 0, word;
    if (header_size > 0) std::memcpy(&header, packed + i / rows * header_size, header_size);
    std::memcpy(&word, packed + columns * header_size + 4 * (i * bits / 32), 4);
    const std::uint32_t coded = word >> (i * bits % 32) & ((1u << bits) - 1);
    x[i] = accumulate(decode(quantiser.code, header, coded), keep, x[i]);
  }
}

}  // namespace paragrad::backend::reference
