#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "backend/quantiser.hpp"
#include "core/host_device.hpp"

/// The codes of backend/quantiser.hpp per element, shared by the devices that process one element at a time.
namespace paragrad::backend {

/// Rounds to nearest, ties to even. For sufficiently small numbers.
PARAGRAD_HOST_DEVICE inline std::int32_t nearest_whole(float value) { return static_cast<std::int32_t>(std::rint(value)); }

// Rounds to nearest, ties to even. NaN stays NaN but loses its lower bits.
PARAGRAD_HOST_DEVICE inline std::uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

PARAGRAD_HOST_DEVICE inline float from_bfloat16(std::uint16_t code) {
  return std::bit_cast<float>(std::uint32_t{code} << 16);
}

/// Saturates at ±65504.
PARAGRAD_HOST_DEVICE inline std::uint16_t to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000;
  const float size = std::min(std::abs(value), 65504.f);
  std::uint32_t half;
  if (std::isnan(value)) {
    half = 0x7E00 | (bits >> 13 & 0x3FF);
  } else if (size < 0x1p-14f) {
    half = static_cast<std::uint32_t>(nearest_whole(size * 0x1p24f));  // in units of the denormal step
  } else {
    const auto size_bits = std::bit_cast<std::uint32_t>(size) - (112u << 23);  // the exponent's bias becomes 15
    half = (size_bits + 0xFFF + (size_bits >> 13 & 1)) >> 13;
  }
  return static_cast<std::uint16_t>(sign | half);
}

PARAGRAD_HOST_DEVICE inline float from_half(std::uint16_t code) {
  const std::uint32_t sign = (code & 0x8000u) << 16, exponent = code >> 10 & 0x1F, mantissa = code & 0x3FF;
  if (exponent == 0) return std::copysign(static_cast<float>(mantissa) * 0x1p-24f, std::bit_cast<float>(sign));
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000 | mantissa << 13 | (mantissa ? 1u << 22 : 0));
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

inline constexpr float largest_half = 65504;

/// Whether u saturates in fp16.
PARAGRAD_HOST_DEVICE inline bool saturates(const Quantiser& quantiser, float u) {
  return quantiser.code == Code::fp16 && std::abs(u) > largest_half * quantiser.unit;
}

/// How the elements of one column become codes.
struct CodeScale {
  float threshold = 0;       ///< of bits1; of bins the mean of the column. Not sent
  std::uint32_t header = 0;  ///< two levels, a step or the largest element; not sent: fp16's unit, the width of bins
};

/// The same for all columns of codes without headers.
PARAGRAD_HOST_DEVICE inline std::uint32_t header_of_unit(const Quantiser& quantiser) {
  return std::bit_cast<std::uint32_t>(quantiser.unit);
}

/// 0 if there are no elements.
PARAGRAD_HOST_DEVICE inline float mean_of_sum(double sum, std::size_t count) {
  return count == 0 ? 0 : static_cast<float>(sum / static_cast<double>(count));
}

PARAGRAD_HOST_DEVICE inline std::uint32_t header_of_levels(float level_0, float level_1) {
  return to_bfloat16(level_0) | std::uint32_t{to_bfloat16(level_1)} << 16;
}

PARAGRAD_HOST_DEVICE inline float level_of(std::uint32_t header, std::uint32_t bit) {
  return from_bfloat16(static_cast<std::uint16_t>(bit ? header >> 16 : header & 0xFFFF));
}

PARAGRAD_HOST_DEVICE inline std::uint32_t header_of_step(float step) {
  return std::bit_cast<std::uint32_t>(step < std::numeric_limits<float>::min() ? 0 : step);  // NaN stays NaN
}

/// |u| as bits, which compare like the absolute values; NaN is the largest.
PARAGRAD_HOST_DEVICE inline std::uint32_t size_bits(float u) { return std::bit_cast<std::uint32_t>(u) & 0x7FFFFFFF; }

/// Step of bits16, from the largest |u| of the column, as bits.
PARAGRAD_HOST_DEVICE inline std::uint32_t header_of_largest(std::uint32_t largest) {
  return header_of_step(std::bit_cast<float>(largest) / static_cast<float>(largest_multiple(16)));
}

/// Step of bits2, bits4, bits8, from Σ u² over the column.
PARAGRAD_HOST_DEVICE inline std::uint32_t header_of_squares(Code code, double squares, std::size_t count) {
  return header_of_step(step_per_deviation(bits_of(code)) * std::sqrt(mean_of_sum(squares, count)));
}

/// Of bins, from Σ u and Σ u² over the column.
PARAGRAD_HOST_DEVICE inline CodeScale scale_of_bins(Code code, double sum, double squares, std::size_t count) {
  const auto number = static_cast<double>(count);
  const double variance = count > 1 ? (squares - sum * sum / number) / (number - 1) : 0;
  const double deviation = variance > 0 ? std::sqrt(variance) : 0;  // of rounding errors, and of what is not finite: 0
  return {mean_of_sum(sum, count), header_of_step(static_cast<float>(6 * deviation / (1 << bits_of(code))))};
}

PARAGRAD_HOST_DEVICE inline std::uint32_t bin_of(Code code, const CodeScale& scale, float u) {
  const float step = std::bit_cast<float>(scale.header);
  const float bins = static_cast<float>(1 << bits_of(code));
  float q = (step == 0 ? 0 : (u - scale.threshold) * (1 / step)) + bins / 2;
  q = q < bins - 1 ? q : bins - 1;  // also for NaN
  return static_cast<std::uint32_t>(nearest_whole(q > 0 ? q : 0));
}

/// Added to the bits of a float, it raises the exponent from mantissas above √2 on.
inline constexpr std::uint32_t above_root_of_two = 0x800000 - 0x3504F4;

PARAGRAD_HOST_DEVICE inline std::uint32_t encode_e3m0(std::uint32_t header, float u) {
  if (header == 0) return 0;
  const float ratio = std::bit_cast<float>(size_bits(u)) / std::bit_cast<float>(header);
  const auto level = static_cast<std::int32_t>((size_bits(ratio) + above_root_of_two) >> 23) - 120;
  if (level <= 0) return 0;
  return static_cast<std::uint32_t>(level < 7 ? level : 7) | (std::bit_cast<std::uint32_t>(u) >> 28 & 8);
}

PARAGRAD_HOST_DEVICE inline float decode_e3m0(std::uint32_t header, std::uint32_t coded) {
  const std::uint32_t level = coded & 7;
  if (level == 0) return 0;
  const float size = std::bit_cast<float>((level + 120) << 23) * std::bit_cast<float>(header);
  return coded & 8 ? -size : size;
}

PARAGRAD_HOST_DEVICE inline std::uint32_t encode(Code code, const CodeScale& scale, float u) {
  if (code == Code::bits1) return u >= scale.threshold;
  if (has_bins(code)) return bin_of(code, scale, u);
  if (code == Code::e3m0) return encode_e3m0(scale.header, u);
  if (code == Code::fp16) return to_half(u * (1 / std::bit_cast<float>(scale.header)));
  if (code == Code::bf16) return to_bfloat16(u);
  const std::size_t bits = bits_of(code);
  const float step = std::bit_cast<float>(scale.header);
  const float limit = static_cast<float>(largest_multiple(bits));
  float q = step == 0 ? 0 : u * (1 / step);
  q = q < limit ? q : limit;  // also for NaN, whose code is arbitrary
  q = q > -limit ? q : -limit;
  return static_cast<std::uint32_t>(nearest_whole(q)) & ((1u << bits) - 1);
}

/// words: the column's header; for fp16 its unit.
PARAGRAD_HOST_DEVICE inline float decode(Code code, const std::uint32_t* words, std::uint32_t coded) {
  if (has_bins(code)) return std::bit_cast<float>(words[coded]);
  const std::uint32_t header = *words;
  if (code == Code::bits1) return level_of(header, coded);
  if (code == Code::e3m0) return decode_e3m0(header, coded);
  if (code == Code::fp16) return from_half(static_cast<std::uint16_t>(coded)) * std::bit_cast<float>(header);
  if (code == Code::bf16) return from_bfloat16(static_cast<std::uint16_t>(coded));
  const std::size_t unused = 32 - bits_of(code);
  const std::int32_t q = static_cast<std::int32_t>(coded << unused) >> unused;
  return static_cast<float>(q) * std::bit_cast<float>(header);
}

}  // namespace paragrad::backend
