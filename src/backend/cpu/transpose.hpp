#pragma once

#include <cstddef>
#include <cstring>

namespace paragrad::backend::cpu {

/// to[j][i] = from[i][j] for an 8×8 block.
inline void transpose_8x8(const float* from, std::size_t from_stride, float* to, std::size_t to_stride) {
  using Eight = float __attribute__((vector_size(32)));
  Eight r[8], s[8];
  for (std::size_t i = 0; i < 8; ++i) std::memcpy(&r[i], from + i * from_stride, sizeof r[i]);
  for (std::size_t i = 0; i < 8; i += 2) {
    s[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    s[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (std::size_t i = 0; i < 8; i += 4) {
    r[i] = __builtin_shufflevector(s[i], s[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    r[i + 1] = __builtin_shufflevector(s[i], s[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    r[i + 2] = __builtin_shufflevector(s[i + 1], s[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
    r[i + 3] = __builtin_shufflevector(s[i + 1], s[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    s[i] = __builtin_shufflevector(r[i], r[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    s[i + 4] = __builtin_shufflevector(r[i], r[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  for (std::size_t i = 0; i < 8; ++i) std::memcpy(to + i * to_stride, &s[i], sizeof s[i]);
}

/// to[j][i] = from[i][j] for i < rows, j < columns.
inline void transpose(std::size_t rows, std::size_t columns, const float* from, std::size_t from_stride, float* to,
                      std::size_t to_stride) {
  const std::size_t whole_rows = rows / 8 * 8, whole_columns = columns / 8 * 8;
  for (std::size_t i = 0; i < whole_rows; i += 8)
    for (std::size_t j = 0; j < whole_columns; j += 8)
      transpose_8x8(from + i * from_stride + j, from_stride, to + j * to_stride + i, to_stride);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = i < whole_rows ? whole_columns : 0; j < columns; ++j)
      to[j * to_stride + i] = from[i * from_stride + j];
}

}  // namespace paragrad::backend::cpu
