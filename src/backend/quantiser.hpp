#pragma once

#include <cstddef>

namespace paragrad::backend {

/// Encoding of gradient elements on the wire. bits1: one of two levels per column. bits2 … bits16: integer multiples of a
/// step per column. fp16, bf16: the 16-bit floating-point formats. bins2, bins4: the means of 4 or 16 bins per column. e3m0:
/// powers of two below the largest element of a column.
enum class Code { bits1, bits2, bits4, bits8, bits16, fp16, bf16, bins2, bins4, e3m0 };

/// Quantises matrices column by column, as 1-bit SGD (Seide et al., Interspeech 2014) does. A packed matrix is
///
///   headers  [columns] of header_bytes each
///   codes    [columns][rows] of `bits` bits each, one stream without gaps: the code of element i = column·rows + row starts
///            at bit i·bits. A sequence of 32-bit words, little-endian, lower bits first; unused bits of the last word are
///            0.
///
/// With 1 bit, a matrix of at least 512 rows and 16 columns takes less than 1/30 of its float32 size; with fewer columns the
/// unused bits of the last word may weigh too much.
///
/// bits1   Header: the two levels as bfloat16, level 0 in the low half. bit = (u >= threshold), so 0 becomes 1; a level is
///         the mean of the elements with its bit, 0 if there are none. With the mean as threshold, CNTK uses the column's
///         mean ± its mean absolute deviation; the means of both sides minimise the squared error there, too, and leave a
///         residual with sum 0.
/// bits2 … bits16   Header: the step, a float. q = u/step rounded to the nearest integer, ties to even, and clamped to
///         ±(2^(bits-1) - 1): an odd number of levels, including 0. In two's complement.
/// fp16, bf16   No header; rounded to nearest, ties to even. fp16 is u/unit, which saturates at ±65504.
/// bins2, bins4   Header: the mean of the elements in each of K = 4 or 16 bins, floats; 0 if there are none. With the
///         column's mean m and standard deviation σ (of a sample), the bin is (u - m)/s + K/2 rounded to the nearest
///         integer, ties to even, and clamped to 0 … K - 1, where s = 6 σ/K.
/// e3m0    Header: the largest |u|, a float. A sign, bit 3, and a level L, 0 to 7: 0, or ±2^(L-7) of the header. The level
///         is the nearest on a logarithmic scale; below 2^-6.5 of the header it is 0.
///
/// NaN is never hidden: with bits1 its level becomes NaN, with bits2 … bits16 the step, with fp16 and bf16 the element, with
/// bins2 and bins4 the mean of its bin, with e3m0 the column.
struct Quantiser {
  Code code = Code::bits1;
  bool threshold_at_mean = false;  ///< for bits1: the threshold is the mean of the column; otherwise 0
  float unit = 1;                  ///< for fp16: a power of two

  std::size_t packed_bytes(std::size_t rows, std::size_t columns) const;  ///< headers and codes; a multiple of 4

  bool operator==(const Quantiser&) const = default;
};

/// Bits of a code, per element.
constexpr std::size_t bits_of(Code code) {
  switch (code) {
    case Code::bits1:
      return 1;
    case Code::bits2:
    case Code::bins2:
      return 2;
    case Code::bits4:
    case Code::bins4:
    case Code::e3m0:
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

constexpr bool has_bins(Code code) { return code == Code::bins2 || code == Code::bins4; }

/// Bytes of the header, per column.
constexpr std::size_t header_bytes(Code code) {
  if (code == Code::fp16 || code == Code::bf16) return 0;
  return has_bins(code) ? std::size_t{4} << bits_of(code) : 4;
}

/// Largest |q| of bits2 … bits16.
constexpr int largest_multiple(std::size_t bits) { return (1 << (bits - 1)) - 1; }

/// Step of bits2, bits4, bits8 as a multiple of the column's root mean square: minimises the mean squared error for a normal
/// distribution of mean 0, which is then 0.190, 0.0129 and 0.0000883 of the mean square (J. Max, "Quantizing for
/// minimum distortion", IRE Trans. Inform. Theory 6(1), 1960).
constexpr float step_per_deviation(std::size_t bits) {
  return bits == 2 ? 1.22400635f : bits == 4 ? 0.353411318f : 0.0308700689f;
}

}  // namespace paragrad::backend
