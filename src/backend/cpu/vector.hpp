#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "backend/kernels.hpp"

// Registers as values: GCC vector types of the widest width that -march grants. Every lane is computed by the same
// operations wherever an element lies, so its bits depend on neither alignment nor neighbours.
#if defined(__AVX512F__)
#define PARAGRAD_VECTOR_BYTES 64
#elif defined(__AVX__)
#define PARAGRAD_VECTOR_BYTES 32
#else
#define PARAGRAD_VECTOR_BYTES 16
#endif
#if defined(__AVX512F__) || defined(__FMA__)
#include <immintrin.h>
#endif

namespace paragrad::backend::cpu {

inline constexpr std::size_t lanes = PARAGRAD_VECTOR_BYTES / sizeof(float);
using Vector = float __attribute__((vector_size(PARAGRAD_VECTOR_BYTES)));
using Integers = std::int32_t __attribute__((vector_size(PARAGRAD_VECTOR_BYTES)));

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
  if constexpr (f == Activation::sigmoid) return 1.f / (1.f + exponential(-z));
  if constexpr (f == Activation::tanh) return hyperbolic_tangent(z);
  if constexpr (f == Activation::relu) return z < 0.f ? Vector{} : z;
  return z;
}

/// d · f', f' as a function of y = f(z).
template <Activation f>
Vector times_slope(Vector d, Vector y) {
  if constexpr (f == Activation::sigmoid) return d * (y * (1.f - y));
  if constexpr (f == Activation::tanh) return d * (1.f - y * y);
  if constexpr (f == Activation::relu) return d * (y > 0.f ? broadcast(1.f) : Vector{});
  return d;
}

/// Calls `with.template operator()<f>()`: the activation becomes a constant inside loops.
template <class Body>
void with_activation(Activation f, const Body& body) {
  switch (f) {
    case Activation::identity:
      return body.template operator()<Activation::identity>();
    case Activation::sigmoid:
      return body.template operator()<Activation::sigmoid>();
    case Activation::tanh:
      return body.template operator()<Activation::tanh>();
    case Activation::relu:
      return body.template operator()<Activation::relu>();
  }
}

/// to[i] = f(from_1[i], from_2[i], …); `to` may be one of the sources.
template <class F, class... Sources>
void transform(std::size_t count, float* to, const F& f, const Sources*... from) {
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) store(f(load(from + i)...), to + i);
  if (i < count) store_part(f(load_part(from + i, count - i)...), to + i, count - i);
}

}  // namespace paragrad::backend::cpu
