#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/activation.hpp"
#include "backend/kernels/gemm.hpp"

namespace paragrad::backend::gpu_kernels {

/// C[m][n] = A·B + keep·C for row-major matrices with row stride `row`; A is [m][k], or [k][m] when transposed, B [k][n], or
/// [n][k]. keep = 0: C is not read. With a bias[n]: C = f(A·B + keep·C + bias).
struct Multiplication {
  struct Input {
    const float* data;
    std::size_t row;
    Transpose transpose = Transpose::no;

    bool operator==(const Input&) const = default;
  };

  std::size_t m, n, k;
  Input a, b;
  float keep;
  float* c;
  std::size_t c_row;
  const float* bias = nullptr;
  Activation f = Activation::identity;

  /// Whether cuBLASLt can fuse bias and function into the product: supported functions, and biases aligned to 16 bytes.
  static bool can_end_with(const float* bias, Activation f) {
    return (f == Activation::identity || f == Activation::relu) && reinterpret_cast<std::uintptr_t>(bias) % 16 == 0;
  }

  bool operator==(const Multiplication&) const = default;
};

}  // namespace paragrad::backend::gpu_kernels
