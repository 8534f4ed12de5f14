#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/host_device.hpp"

/// Turns Philox words (core/philox.hpp) into uniform and normal numbers, by formulas that every device computes with the
/// same roundings, so all draw the same bits. Templates over a scalar or a vector register; no operation here may be
/// contracted into fused multiply-adds.
namespace paragrad::backend {

/// Access to the bits of a Real; specialised for registers in cpu/vector.hpp.
template <class Real>
struct Lane;

template <>
struct Lane<float> {
  using Integer = std::int32_t;
  PARAGRAD_HOST_DEVICE static float real(Integer n) { return static_cast<float>(n); }
  PARAGRAD_HOST_DEVICE static float root(float x) { return std::sqrt(x); }
};

/// The random numbers of a row: 64 units share 16 counters; the four words of a counter serve units 16 apart.
struct CounterSlot {
  static constexpr std::size_t counters = 16, words = 4, units = counters * words;

  std::uint32_t counter;
  std::size_t word;

  static constexpr CounterSlot of(std::size_t unit) {
    return {static_cast<std::uint32_t>(unit / units * counters + unit % counters), unit % units / counters};
  }
  /// The index in a core::RandomStream.
  static constexpr std::uint64_t index(std::uint32_t row, std::uint32_t counter) {
    return std::uint64_t{row} << 32 | counter;
  }
};

/// Uniform in [0, 1), 24 bits.
template <class Real, class Word>
PARAGRAD_HOST_DEVICE Real uniform(Word word) {
  return Lane<Real>::real(std::bit_cast<typename Lane<Real>::Integer>(word >> 8)) * 0x1p-24f;
}

/// log x with relative error below 2e-7, for positive normal numbers (Cephes' logf: x = 2^e·(1 + m), polynomial in m).
template <class Real>
PARAGRAD_HOST_DEVICE Real logarithm(Real x) {
  using Integer = typename Lane<Real>::Integer;
  const Integer bits = std::bit_cast<Integer>(x);
  const Real half = std::bit_cast<Real>((bits & 0x7FFFFF) | 0x3F000000);  // in [½, 1)
  const Integer exponent = (bits >> 23) - (half < 0.707106781f ? Integer{} + 127 : Integer{} + 126);
  const Real e = Lane<Real>::real(exponent), m = (half < 0.707106781f ? half + half : half) - 1.f;
  Real p = Real{} + 7.0376836292e-2f;
  p = p * m + -1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m + -1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m + -1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m + -2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  const Real square = m * m;
  return (m + (p * m * square + e * -2.12194440e-4f - 0.5f * square)) + e * 0.693359375f;
}

/// Standard normal, at most 5.3 in absolute value: √2·erf⁻¹ of a uniform number in (-1, 1), 23 bits (M. Giles,
/// "Approximating the erfinv function", GPU Computing Gems 2, 2011; single precision).
template <class Real, class Word>
PARAGRAD_HOST_DEVICE Real normal(Word word) {
  using Integer = typename Lane<Real>::Integer;
  const Real x = Lane<Real>::real(2 * std::bit_cast<Integer>(word >> 9) - 0x7FFFFF) * 0x1p-23f;
  const Real w = -logarithm((1.f - x) * (1.f + x));
  const Real c = w - 2.5f, t = Lane<Real>::root(w) - 3.f;
  Real centre = Real{} + 2.81022636e-08f;
  centre = centre * c + 3.43273939e-07f;
  centre = centre * c + -3.5233877e-06f;
  centre = centre * c + -4.39150654e-06f;
  centre = centre * c + 0.00021858087f;
  centre = centre * c + -0.00125372503f;
  centre = centre * c + -0.00417768164f;
  centre = centre * c + 0.246640727f;
  centre = centre * c + 1.50140941f;
  Real tail = Real{} + -0.000200214257f;
  tail = tail * t + 0.000100950558f;
  tail = tail * t + 0.00134934322f;
  tail = tail * t + -0.00367342844f;
  tail = tail * t + 0.00573950773f;
  tail = tail * t + -0.0076224613f;
  tail = tail * t + 0.00943887047f;
  tail = tail * t + 1.00167406f;
  tail = tail * t + 2.83297682f;
  return (w < 5.f ? centre : tail) * x * 1.41421356f;
}

}  // namespace paragrad::backend
