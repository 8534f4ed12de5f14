#pragma once

#include <algorithm>
#include <cmath>

#include "backend/kernel.hpp"

namespace paragrad::backend {

/// Scales each row of w, [columns][rows] as in core::Matrix, to norm `limit` if its norm is larger; squares are summed in
/// double, in the order of the columns. Its elements are the rows.
template <class Real>
struct LimitRowNormsOf {
  static constexpr KernelId id = KernelId::limit_row_norms;

  std::size_t rows, columns;
  Real limit;
  std::span<Real> w;

  void check() const { expect_size(id, "w", w.size(), rows * columns); }
  KernelCost cost() const { return streaming_cost(w.size(), 3, 3); }
  std::size_t elements() const { return rows; }
  PARAGRAD_HOST_DEVICE void element(std::size_t row) const {
    double squares = 0;
    for (std::size_t i = row; i < rows * columns; i += rows)
      squares += static_cast<double>(w[i]) * static_cast<double>(w[i]);
    const Real factor = factor_of(squares);
    for (std::size_t i = row; i < rows * columns; i += rows) w[i] *= factor;
  }

  /// 1 for a row that is short enough, and for one with NaN.
  PARAGRAD_HOST_DEVICE Real factor_of(double squares) const {
    const double norm = std::sqrt(squares), longest = static_cast<double>(limit);
    return norm > longest ? static_cast<Real>(longest / norm) : Real(1);
  }
  static Example<LimitRowNormsOf> example(ExampleMemory& memory, std::size_t count) {
    const std::size_t rows = std::min<std::size_t>(count, 512), columns = count / rows;
    return [=, &memory] { return LimitRowNormsOf{rows, columns, 1, memory.parameters(count).first(rows * columns)}; };
  }
};
using LimitRowNorms = LimitRowNormsOf<float>;

}  // namespace paragrad::backend
