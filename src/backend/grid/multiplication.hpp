#pragma once

#include <cstddef>

#include "backend/kernels.hpp"

namespace paragrad::backend::grid {

/// C[m][n] = A·B + keep·C of row-major matrices whose rows begin `row` elements apart; A is [m][k], or [k][m] when
/// transposed, B [k][n], or [n][k]. keep = 0: C is not looked at.
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

  bool operator==(const Multiplication&) const = default;
};

}  // namespace paragrad::backend::grid
