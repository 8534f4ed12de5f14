#pragma once

#include "backend/kernel.hpp"

namespace paragrad::backend {

enum class Transpose { no, yes };

/// C[m][n] = A·B + keep·C, where A is [m][k] (or [k][m] when transposed) and B is [k][n] (or [n][k]).
/// keep = 0 overwrites C, whatever its content (even NaN). The layers have products of their own, below kernels/affine.hpp.
template <class Real>
struct GemmOf {
  static constexpr KernelId id = KernelId::gemm;

  Transpose transpose_a, transpose_b;
  std::size_t m, n, k;
  std::span<const Real> a, b;
  Real keep;
  std::span<Real> c;

  void check() const {
    expect_size(id, "a", a.size(), m * k);
    expect_size(id, "b", b.size(), k * n);
    expect_size(id, "c", c.size(), m * n);
  }
  KernelCost cost() const { return product_cost(m, k, n); }
  void reference() const {
    const auto at = [](std::span<const Real> matrix, Transpose t, std::size_t rows, std::size_t columns, std::size_t i,
                       std::size_t j) { return t == Transpose::no ? matrix[i * columns + j] : matrix[j * rows + i]; };
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        Real sum = 0;
        for (std::size_t l = 0; l < k; ++l) sum += at(a, transpose_a, m, k, i, l) * at(b, transpose_b, k, n, l, j);
        c[i * n + j] = accumulate(sum, keep, c[i * n + j]);
      }
    }
  }
};
using Gemm = GemmOf<float>;

}  // namespace paragrad::backend
