#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "backend/kernel.hpp"

namespace paragrad::backend {

/// The divisor that normalises a column of length `before`, which has length `after` once orthogonalised. Infinite if too
/// little remains; NaN stays NaN.
PARAGRAD_HOST_DEVICE inline double length_to_divide_by(double before, double after) {
  const double least = std::max(1e-5 * before, static_cast<double>(std::numeric_limits<float>::min()));
  return after <= least ? std::numeric_limits<double>::infinity() : after;
}

/// Element `row` of the direction that replaces column `column` if nothing remains of it: in [-1, 1), as if drawn at random.
PARAGRAD_HOST_DEVICE inline float direction_element(std::size_t row, std::size_t column) {
  auto bits = static_cast<std::uint32_t>(row) * 0x9E3779B9u + (static_cast<std::uint32_t>(column) + 1) * 0x85EBCA6Bu;
  bits = (bits ^ bits >> 16) * 0x7FEB352Du;
  bits = (bits ^ bits >> 15) * 0x846CA68Bu;
  return static_cast<float>((bits ^ bits >> 16) >> 8) * 0x1p-23f - 1;
}

/// For columns that start `distance` elements apart. product(a, b), subtract(factor, from, to), scale(factor, to) and
/// replace(j, to), which writes direction_element(row, j), work on a whole column, given its first element.
template <class Real, class Product, class Subtract, class Scaling, class Replace>
PARAGRAD_HOST_DEVICE void orthonormalise_columns(std::size_t distance, std::size_t rank, Real* columns,
                                                 const Product& product, const Subtract& subtract, const Scaling& scale,
                                                 const Replace& replace) {
  for (std::size_t j = 0; j < rank; ++j) {
    Real* column = columns + j * distance;
    const auto orthogonalised = [&] {
      const double before = std::sqrt(product(column, column));
      for (int time = 0; time < 2; ++time)
        for (std::size_t i = 0; i < j; ++i)
          subtract(static_cast<Real>(product(columns + i * distance, column)), columns + i * distance, column);
      return length_to_divide_by(before, std::sqrt(product(column, column)));
    };
    double length = orthogonalised();
    if (std::isinf(length)) {
      replace(j, column);
      length = orthogonalised();
    }
    scale(static_cast<Real>(1 / length), column);
  }
}

/// Makes the columns of a matrix [rows][rank] orthonormal, in place: modified Gram-Schmidt with each column orthogonalised
/// twice against the previous ones (once is inaccurate for nearly parallel columns; L. Giraud et al., Comput. Math. Appl.
/// 50(7), 2005). A column with a remainder below 1e-5 is replaced by a direction that depends on its number alone, as a QR
/// decomposition completes a basis; it becomes 0 only if there are fewer rows than columns.
template <class Real>
struct OrthonormaliseOf {
  static constexpr KernelId id = KernelId::orthonormalise;

  std::size_t rows, rank;
  std::span<Real> matrix;

  void check() const { expect_size(id, "matrix", matrix.size(), rows * rank); }
  /// rank (rank - 1) / 2 pairs of columns twice, a product and a subtraction each; norm and division.
  KernelCost cost() const { return streaming_cost(matrix.size(), 4 * rank, 2); }
  void reference() const {
    std::vector<Real> columns(rows * rank);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t j = 0; j < rank; ++j) columns[j * rows + r] = matrix[r * rank + j];
    const auto product = [&](const Real* a, const Real* b) {
      double sum = 0;
      for (std::size_t r = 0; r < rows; ++r) sum += static_cast<double>(a[r]) * static_cast<double>(b[r]);
      return sum;
    };
    const auto subtract = [&](Real factor, const Real* from, Real* to) {
      for (std::size_t r = 0; r < rows; ++r) to[r] -= factor * from[r];
    };
    const auto scale = [&](Real factor, Real* to) {
      for (std::size_t r = 0; r < rows; ++r) to[r] *= factor;
    };
    const auto replace = [&](std::size_t j, Real* to) {
      for (std::size_t r = 0; r < rows; ++r) to[r] = direction_element(r, j);
    };
    orthonormalise_columns(rows, rank, columns.data(), product, subtract, scale, replace);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t j = 0; j < rank; ++j) matrix[r * rank + j] = columns[j * rows + r];
  }
  static Example<OrthonormaliseOf> example(ExampleMemory& memory, std::size_t count) {
    constexpr std::size_t rank = 4;
    const std::size_t rows = std::max<std::size_t>(1, count / rank);
    return [=, &memory] { return OrthonormaliseOf{rows, rank, memory.parameters(rows * rank)}; };
  }
};
using Orthonormalise = OrthonormaliseOf<float>;

}  // namespace paragrad::backend
