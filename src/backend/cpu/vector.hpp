#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "backend/activation.hpp"
#include "backend/random_numbers.hpp"

// Registers as values: GCC vector types of the widest width that -march grants. Every lane is computed by the same
// operations wherever an element lies, so its bits depend on neither alignment nor neighbours.
#if defined(__AVX512F__)
#define PARAGRAD_VECTOR_BYTES 64
#elif defined(__AVX__)
#define PARAGRAD_VECTOR_BYTES 32
#else
#define PARAGRAD_VECTOR_BYTES 16
#endif
#if defined(__SSE__)
#include <immintrin.h>
#endif

namespace paragrad::backend::cpu {

inline constexpr std::size_t lanes = PARAGRAD_VECTOR_BYTES / sizeof(float);
using Vector = float __attribute__((vector_size(PARAGRAD_VECTOR_BYTES)));
using Integers = std::int32_t __attribute__((vector_size(PARAGRAD_VECTOR_BYTES)));
using Words = std::uint32_t __attribute__((vector_size(PARAGRAD_VECTOR_BYTES)));
using Longs = std::uint64_t __attribute__((vector_size(PARAGRAD_VECTOR_BYTES)));      // half as many lanes
using Shorts = std::int16_t __attribute__((vector_size(PARAGRAD_VECTOR_BYTES / 2)));  // as many lanes
using Bytes = std::int8_t __attribute__((vector_size(PARAGRAD_VECTOR_BYTES / 4)));

inline Vector load(const float* from) {
  Vector v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
inline void store(Vector v, float* to) { std::memcpy(to, &v, sizeof v); }
inline Vector broadcast(float value) { return value - Vector{}; }

/// The first `count` < lanes elements, the others zero.
inline Vector load_part(const float* from, std::size_t count) {
#if defined(__AVX512F__)
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), from);
#else
  float whole[lanes] = {};
  std::memcpy(whole, from, count * sizeof(float));
  return load(whole);
#endif
}
inline void store_part(Vector v, float* to, std::size_t count) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1u << count) - 1), v);
#else
  std::memcpy(to, &v, count * sizeof(float));
#endif
}

inline bool is_aligned(const float* to) { return reinterpret_cast<std::uintptr_t>(to) % sizeof(Vector) == 0; }

/// Non-temporal store to an aligned address: the cache line is neither fetched nor kept. Other threads see it after
/// finish_past_cache.
inline void store_past_cache(Vector v, float* to) {
#if defined(__AVX512F__)
  _mm512_stream_ps(to, v);
#elif defined(__AVX__)
  _mm256_stream_ps(to, v);
#elif defined(__SSE__)
  _mm_stream_ps(to, v);
#else
  store(v, to);
#endif
}
inline void finish_past_cache() {
#if defined(__SSE__)
  _mm_sfence();
#endif
}

/// a·b + c, rounded once where the processor can.
inline Vector multiply_add(Vector a, Vector b, Vector c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}

/// The product of the lower halves of each 64-bit lane.
inline Longs multiply_low_halves(Longs a, Longs b) {
#if defined(__AVX512F__)
  return reinterpret_cast<Longs>(_mm512_maskz_mul_epu32(0xFF, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<Longs>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__SSE2__) && !defined(__AVX__)
  return reinterpret_cast<Longs>(_mm_mul_epu32(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  return (a & 0xFFFFFFFF) * (b & 0xFFFFFFFF);
#endif
}

/// Bit l is set if u[l] >= threshold[l].
inline std::uint32_t bits_at_least(Vector u, Vector threshold) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask(u, threshold, _CMP_GE_OQ);
#elif defined(__AVX__)
  return static_cast<std::uint32_t>(_mm256_movemask_ps(reinterpret_cast<Vector>(u >= threshold)));
#elif defined(__SSE__)
  return static_cast<std::uint32_t>(_mm_movemask_ps(reinterpret_cast<Vector>(u >= threshold)));
#else
  std::uint32_t bits = 0;
  for (std::size_t l = 0; l < lanes; ++l) bits |= static_cast<std::uint32_t>(u[l] >= threshold[l]) << l;
  return bits;
#endif
}

/// Bit l is set if a[l] >= b[l].
inline std::uint32_t bits_at_least(Integers a, Integers b) {
#if defined(__AVX512F__)
  return _mm512_cmpge_epi32_mask(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b));
#elif defined(__AVX__)
  return static_cast<std::uint32_t>(_mm256_movemask_ps(reinterpret_cast<Vector>(a >= b)));
#elif defined(__SSE__)
  return static_cast<std::uint32_t>(_mm_movemask_ps(reinterpret_cast<Vector>(a >= b)));
#else
  std::uint32_t bits = 0;
  for (std::size_t l = 0; l < lanes; ++l) bits |= static_cast<std::uint32_t>(a[l] >= b[l]) << l;
  return bits;
#endif
}

/// Lane l is one[l] if bit l is set, otherwise zero[l]; higher bits are ignored.
inline Vector choose(std::uint32_t bits, Vector zero, Vector one) {
#if defined(__AVX512F__)
  return _mm512_mask_blend_ps(static_cast<__mmask16>(bits), zero, one);
#else
  Integers bit_of_lane;
  for (std::size_t l = 0; l < lanes; ++l) bit_of_lane[l] = std::int32_t{1} << l;
  return (bit_of_lane & static_cast<std::int32_t>(bits)) != 0 ? one : zero;
#endif
}

inline Integers widened(Bytes bytes) {
#if defined(__AVX512F__)
  return reinterpret_cast<Integers>(_mm512_maskz_cvtepi8_epi32(0xFFFF, reinterpret_cast<__m128i>(bytes)));
#else
  return __builtin_convertvector(bytes, Integers);
#endif
}

/// To half precision, rounded to nearest, ties to even. |v| is at most 65504 or NaN, which stays NaN.
inline Shorts halves(Vector v) {
#if defined(__AVX512F__)
  return reinterpret_cast<Shorts>(_mm512_maskz_cvtps_ph(0xFFFF, v, _MM_FROUND_TO_NEAREST_INT));
#elif defined(__AVX__) && defined(__F16C__)
  return reinterpret_cast<Shorts>(_mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
#else
  const Integers bits = reinterpret_cast<Integers>(v), size_bits = bits & 0x7FFFFFFF;
  const Vector size = reinterpret_cast<Vector>(size_bits);
  const Integers moved = size_bits - (112 << 23);  // the exponent's bias becomes 15
  const Integers normal = (moved + 0xFFF + (moved >> 13 & 1)) >> 13;
  const Integers small = reinterpret_cast<Integers>(size + 0.5f) - 0x3F000000;  // the last place of 0.5 is 2^-24
  const Integers broken = (bits >> 13 & 0x3FF) | 0x7E00;
  const Integers number = size < 0x1p-14f ? small : normal;
  return __builtin_convertvector((bits >> 16 & 0x8000) | (size != size ? broken : number), Shorts);
#endif
}

inline Vector from_halves(Shorts h) {
#if defined(__AVX512F__)
  return _mm512_maskz_cvtph_ps(0xFFFF, reinterpret_cast<__m256i>(h));
#elif defined(__AVX__) && defined(__F16C__)
  return _mm256_cvtph_ps(reinterpret_cast<__m128i>(h));
#else
  const Integers bits = __builtin_convertvector(h, Integers), size = bits & 0x7FFF;
  const Vector small = __builtin_convertvector(size, Vector) * 0x1p-24f;
  const Integers number = (size << 13) + (112 << 23);
  const Integers quiet = size > 0x7C00 ? Integers{} + (1 << 22) : Integers{};
  const Integers broken = (size << 13) | 0x7F800000 | quiet;
  const Integers wide = size < 0x400 ? reinterpret_cast<Integers>(small) : size < 0x7C00 ? number : broken;
  return reinterpret_cast<Vector>(wide | (bits & 0x8000) << 16);
#endif
}

inline Vector square_root(Vector x) {
#if defined(__AVX512F__)
  return _mm512_maskz_sqrt_ps(0xffff, x);  // GCC 12 warns of the other form
#elif defined(__AVX__)
  return _mm256_sqrt_ps(x);
#else
  for (std::size_t i = 0; i < lanes; ++i) x[i] = std::sqrt(x[i]);
  return x;
#endif
}

}  // namespace paragrad::backend::cpu

template <>
struct paragrad::backend::Lane<paragrad::backend::cpu::Vector> {
  using Integer = cpu::Integers;
  static cpu::Vector real(Integer n) { return __builtin_convertvector(n, cpu::Vector); }
  static cpu::Vector root(cpu::Vector x) { return cpu::square_root(x); }
};

namespace paragrad::backend::cpu {

/// e^x, relative error below 2e-7 (Cephes' expf: x = n ln 2 + r, polynomial in r). Results below 2^-125 become 0.
inline Vector exponential(Vector x) {
  const Vector shift = broadcast(12582912.f);  // 1.5 · 2^23: adding it rounds to a whole number, in the low bits
  const Vector shifted = x * 1.44269504088896341f + shift;
  const Vector n = shifted - shift;
  const Vector r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  Vector p = broadcast(1.9875691500e-4f);
  p = multiply_add(p, r, broadcast(1.3981999507e-3f));
  p = multiply_add(p, r, broadcast(8.3334519073e-3f));
  p = multiply_add(p, r, broadcast(4.1665795894e-2f));
  p = multiply_add(p, r, broadcast(1.6666665459e-1f));
  p = multiply_add(p, r, broadcast(5.0000001201e-1f));
  p = multiply_add(p, r * r, r) + 1.f;
  const Integers half_scale_bits = (reinterpret_cast<Integers>(shifted) + (126 - 0x4B400000)) << 23;  // 2^(n-1)
  const Vector y = p * reinterpret_cast<Vector>(half_scale_bits) * 2.f;
  const Vector not_small = x < -86.6f ? Vector{} : y;  // NaN is neither small nor large and stays NaN
  return x > 88.72283f ? broadcast(std::numeric_limits<float>::infinity()) : not_small;
}

inline Vector hyperbolic_tangent(Vector z) {
  const Vector size = z < 0.f ? -z : z;
  const Vector far = 1.f - 2.f / (exponential(2.f * size) + 1.f);
  const Vector square = z * z;  // near 0: Cephes' tanhf
  Vector p = broadcast(-5.70498872745e-3f);
  p = p * square + 2.06390887954e-2f;
  p = p * square + -5.37397155531e-2f;
  p = p * square + 1.33314422036e-1f;
  p = p * square + -3.33332819422e-1f;
  const Vector near = p * square * z + z;
  return size < 0.625f ? near : (z < 0.f ? -far : far);
}

template <Activation f>
Vector activate(Vector z) {
  if constexpr (f == Activation::sigmoid)
    return 1.f / (1.f + exponential(-z));
  else if constexpr (f == Activation::tanh)
    return hyperbolic_tangent(z);
  else if constexpr (f == Activation::relu)
    return z < 0.f ? Vector{} : z;
  else {
    static_assert(f == Activation::identity, "its formula for vectors is missing");
    return z;
  }
}

/// d · f', f' as a function of y = f(z).
template <Activation f>
Vector times_slope(Vector d, Vector y) {
  if constexpr (f == Activation::sigmoid)
    return d * (y * (1.f - y));
  else if constexpr (f == Activation::tanh)
    return d * (1.f - y * y);
  else if constexpr (f == Activation::relu)
    return d * (y > 0.f ? broadcast(1.f) : Vector{});
  else {
    static_assert(f == Activation::identity, "its formula for vectors is missing");
    return d;
  }
}

/// with_activation() for a function that fuses into a product. Throws logic_error for others.
template <class Body>
void with_fused(Activation f, const Body& body) {
  with_activation(f, [&]<Activation constant>() {
    if constexpr (slope_of(constant) == SlopeOf::output)
      body.template operator()<constant>();
    else
      throw std::logic_error("no such function fuses into a product");
  });
}

/// to[i] = f(from_1[i], from_2[i], …); `to` may be one of the sources.
template <class F, class... Sources>
void transform(std::size_t count, float* to, const F& f, const Sources*... from) {
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) store(f(load(from + i)...), to + i);
  if (i < count) store_part(f(load_part(from + i, count - i)...), to + i, count - i);
}

}  // namespace paragrad::backend::cpu
