#pragma once

#include <cstddef>

namespace paragrad::backend {

/// How the elements of a gradient are written on the wire. bits1: one of two levels of their column. bits2 … bits16: whole
/// multiples of their column's step. fp16, bf16: the short floating-point formats.
enum class Code { bits1, bits2, bits4, bits8, bits16, fp16, bf16 };

/// Quantises matrices column by column, as 1-bit SGD (Seide et al., Interspeech 2014) does. A packed matrix is
///
///   headers  [columns] of header_bytes each
///   codes    [columns][rows] of `bits` bits each, one stream without gaps: that of element i = column·rows + row begins at
///            bit i·bits. A sequence of 32-bit words, little-endian, lower bits first; unused bits of the last word are 0.
///
/// In 1 bit, a matrix of 512 rows or more and 16 columns or more takes less than 1/30 of its float32; with fewer columns the
/// unused bits of the last word can be too many.
///
/// bits1   Header: the two levels as bfloat16, level 0 in the low half. bit = (u >= threshold), so 0 becomes 1; a level is
///         the mean of the elements that have its bit, 0 where there are none. CNTK takes the column's mean -+ its mean
///         absolute deviation where the threshold is the mean; the means of both sides have the least squared error there
///         too, and leave a residual whose sum is 0.
/// bits2 … bits16   Header: the step, a float. q = u/step rounded to the nearest whole number, to the even one of two, and
///         clamped to ±(2^(bits-1) - 1): an odd number of levels, of which one is 0. In two's complement.
/// fp16, bf16   No header; rounded to the nearest number, to the even one of two. fp16 saturates at ±65504.
///
/// Nothing hides a NaN: of bits1 the level that stands for it is NaN, of bits2 … bits16 the step, of fp16 and bf16 the
/// element.
struct Quantiser {
  Code code = Code::bits1;
  bool threshold_at_mean = false;  ///< of bits1: the threshold is the mean of the column, and otherwise 0

  std::size_t packed_bytes(std::size_t rows, std::size_t columns) const;  ///< headers and codes; a multiple of 4

  bool operator==(const Quantiser&) const = default;
};

/// Of a code, per element.
constexpr std::size_t bits_of(Code code) {
  switch (code) {
    case Code::bits1:
      return 1;
    case Code::bits2:
      return 2;
    case Code::bits4:
      return 4;
    case Code::bits8:
      return 8;
    case Code::bits16:
    case Code::fp16:
    case Code::bf16:
      break;
  }
  return 16;
}

/// Per column.
constexpr std::size_t header_bytes(Code code) { return code == Code::fp16 || code == Code::bf16 ? 0 : 4; }

/// Largest |q| of bits2 … bits16.
constexpr int largest_multiple(std::size_t bits) { return (1 << (bits - 1)) - 1; }

/// Step of bits2, bits4, bits8 as a multiple of the root of the column's mean square: that of the least mean squared error
/// for a normal distribution of mean 0, which is 0.190, 0.0129 and 0.0000883 of the mean square (J. Max, "Quantizing for
/// minimum distortion", IRE Trans. Inform. Theory 6(1), 1960).
constexpr float step_per_deviation(std::size_t bits) {
  return bits == 2 ? 1.22400635f : bits == 4 ? 0.353411318f : 0.0308700689f;
}

}  // namespace paragrad::backend
