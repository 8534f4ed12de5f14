#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace paragrad::speech {

/// Rows of equal length, one after the other. Features: a row is a frame.
template <class T>
struct Matrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<T> values{};  ///< [rows][columns]

  Matrix() = default;
  Matrix(std::size_t rows, std::size_t columns) : rows(rows), columns(columns), values(rows * columns) {}

  std::span<T> row(std::size_t i) { return std::span(values).subspan(i * columns, columns); }
  std::span<const T> row(std::size_t i) const { return std::span(values).subspan(i * columns, columns); }
};

using Features = Matrix<float>;  ///< [frames][dim]

}  // namespace paragrad::speech
