#pragma once

#include "backend/gpu_kernels/gpu_context.hpp"
#include "backend/gpu_kernels/multiplication.hpp"
#include "backend/gpu_kernels/padded_product.hpp"
#include "backend/gpu_kernels/streams.hpp"
#include "backend/kernels/activation_backward.hpp"
#include "backend/kernels/affine.hpp"
#include "backend/kernels/gemm.hpp"

/// Bodies of the kernels that are matrix products.
namespace paragrad::backend::gpu_kernels {

/// A product outside branches, which must not share the scratch memory.
void multiply(auto& gpu, const Multiplication& product) {
  if (!gpu.runtime().wants_padded(product)) return gpu.runtime().multiply(product);
  PaddedProduct padded(product);
  padded.copy_from(gpu.runner(), gpu.template scratch<float>("padded", padded.floats()));
  gpu.runtime().multiply(padded.product());
  padded.copy_back(gpu.runner());
}

/// C = f(C + bias[n]) after a product, or fused into it; `all_bias` may be empty.
void multiply_and_add(auto& gpu, Multiplication product, std::span<const float> all_bias, Activation f) {
  const float* const bias = all_bias.empty() ? nullptr : all_bias.data();
  if (bias == nullptr && f == Activation::identity) return multiply(gpu, product);
  if (bias != nullptr && Multiplication::can_end_with(bias, f)) {
    product.bias = bias;
    product.f = f;
    return multiply(gpu, product);
  }
  multiply(gpu, product);
  if (product.m * product.n > 0) gpu(Stream<AddBias>{product.m * product.n, {f, product.n, bias, product.c}});
}

void run(auto& gpu, const Gemm& kernel) {
  const auto& [ta, tb, m, n, k, a, b, keep, c] = kernel;
  multiply(gpu, {m,
                 n,
                 k,
                 {a.data(), ta == Transpose::no ? k : m, ta},
                 {b.data(), tb == Transpose::no ? n : k, tb},
                 keep,
                 c.data(),
                 n});
}

void run(auto& gpu, const AffineForward& kernel) {
  const auto& [batch, in, out, x, w, bias, f, y] = kernel;
  multiply_and_add(gpu, {batch, out, in, {x.data(), in}, {w.data(), out}, 0, y.data(), out}, bias, f);
}

void run(auto& gpu, const AffineBackwardInput& kernel) {
  const auto& [batch, in, out, dz, w, x, f, dx] = kernel;
  run(gpu, Gemm{Transpose::no, Transpose::yes, batch, in, out, dz, w, 0, dx});
  if (f != Activation::identity) run(gpu, ActivationBackward{f, x, dx});
}

void run(auto& gpu, const AffineBackwardWeights& kernel) {
  const auto& [batch, in, out, first_row, rows, x, dz, keep, dw] = kernel;
  multiply(gpu, {rows, out, batch, {x.data() + first_row, in, Transpose::yes}, {dz.data(), out}, keep, dw.data(), out});
}

void run(auto& gpu, const AffineDescend& kernel) {
  run(gpu, kernel.gradient());
  run(gpu, kernel.descent());
}

void run(auto& gpu, const AffineReverse& kernel) {
  const auto& [batch, in, out, y, w, bias, f, x] = kernel;
  multiply_and_add(gpu, {batch, in, out, {y.data(), out}, {w.data(), out, Transpose::yes}, 0, x.data(), in}, bias, f);
}

}  // namespace paragrad::backend::gpu_kernels
