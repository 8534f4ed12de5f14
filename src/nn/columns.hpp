#pragma once

#include <span>

#include "core/range.hpp"

namespace paragrad::nn {

/// Columns `range` of a matrix [rows][width], as a span that begins and ends with them.
template <class Real>
std::span<Real> columns_of(std::span<Real> matrix, std::size_t rows, std::size_t width, core::Range range) {
  return matrix.subspan(range.begin, (rows - 1) * width + range.size());
}

}  // namespace paragrad::nn
