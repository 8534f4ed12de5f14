#include "backend/cpu/product.hpp"

#include <algorithm>

#include "backend/cpu/tile.hpp"
#include "core/range.hpp"

namespace paragrad::backend::cpu {

namespace {

constexpr std::size_t column_block = 1024;  // a packed block of B, [128][1024], stays in the L2 cache
constexpr std::size_t left_size = std::max(tile_rows * packed_row, depth_block* packed_column);

std::size_t parts(std::size_t length, std::size_t largest) { return (length + largest - 1) / largest; }

/// The Operand's part that begins at (i, j).
Operand from(Operand operand, std::size_t i, std::size_t j) {
  const bool plain = operand.transpose == Transpose::no;
  operand.data += plain ? i * operand.stride + j : j * operand.stride + i;
  return operand;
}

void copy_row(std::size_t count, const float* from, float* to) {
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) store(load(from + i), to + i);
  if (i < count) store_part(load_part(from + i, count - i), to + i, count - i);
}

/// to[j][i] = from[i][j] for an 8×8 block.
void transpose_8x8(const float* from, std::size_t from_stride, float* to, std::size_t to_stride) {
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
void transpose(std::size_t rows, std::size_t columns, const float* from, std::size_t from_stride, float* to,
               std::size_t to_stride) {
  const std::size_t whole_rows = rows / 8 * 8, whole_columns = columns / 8 * 8;
  for (std::size_t i = 0; i < whole_rows; i += 8)
    for (std::size_t j = 0; j < whole_columns; j += 8)
      transpose_8x8(from + i * from_stride + j, from_stride, to + j * to_stride + i, to_stride);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = i < whole_rows ? whole_columns : 0; j < columns; ++j)
      to[j * to_stride + i] = from[i * from_stride + j];
}

/// A[rows][depth] as tile() wants it: by rows, or by columns if it is transposed.
void pack_left(std::size_t rows, std::size_t depth, Operand a, float* to) {
  if (a.transpose == Transpose::no) {
    for (std::size_t i = 0; i < rows; ++i) copy_row(depth, a.data + i * a.stride, to + i * packed_row);
  } else {
    for (std::size_t l = 0; l < depth; ++l) copy_row(rows, a.data + l * a.stride, to + l * packed_column);
  }
}

/// B[depth][columns ≤ tile_columns] as [depth][tile_columns]; the missing columns are zero.
void pack_panel(std::size_t depth, std::size_t columns, Operand b, float* to) {
  if (columns < tile_columns) std::fill_n(to, depth * tile_columns, 0.f);
  if (b.transpose == Transpose::yes) return transpose(columns, depth, b.data, b.stride, to, tile_columns);
  for (std::size_t l = 0; l < depth; ++l) copy_row(columns, b.data + l * b.stride, to + l * tile_columns);
}

/// B[depth][columns] as panels of tile_columns columns each, one after the other. Reads along B's rows, whole lines at a
/// time, so that the processor's prefetching works.
void pack_right(std::size_t depth, std::size_t columns, Operand b, float* to) {
  const std::size_t whole = columns / tile_columns * tile_columns;
  if (b.transpose == Transpose::no) {
    for (std::size_t l = 0; l < depth; ++l) {
      const float* row = b.data + l * b.stride;
      float* packed = to + l * tile_columns;
      for (std::size_t j = 0; j < whole; j += tile_columns, packed += depth * tile_columns) {
        store(load(row + j), packed);
        store(load(row + j + lanes), packed + lanes);
      }
    }
  } else {
    for (std::size_t j = 0; j < whole; j += tile_columns) pack_panel(depth, tile_columns, from(b, 0, j), to + j * depth);
  }
  if (whole < columns) pack_panel(depth, columns - whole, from(b, 0, whole), to + whole * depth);
}

/// Asks for each row of a tile that begins at matrix[first]: two cache lines, to come as near as the L2 cache.
void prefetch(std::size_t rows, std::size_t stride, const float* matrix, std::size_t first) {
  if (matrix == nullptr) return;
  for (std::size_t i = 0; i < rows; ++i) {
    __builtin_prefetch(matrix + first + i * stride, 0, 2);
    __builtin_prefetch(matrix + first + i * stride + tile_columns - 1, 0, 2);
  }
}

}  // namespace

float* PackBuffer::left() {
  if (memory_.size() == 0) memory_ = core::host_arena(left_size + depth_block * column_block);
  return memory_.span().data();
}

float* PackBuffer::right() { return left() + left_size; }

void multiply(PackBuffer& buffer, std::size_t m, std::size_t n, std::size_t k, Operand a, Operand b, float keep, float* c,
              const Finish* finish) {
  float *left = buffer.left(), *right = buffer.right();
  const bool by_columns = a.transpose == Transpose::yes;
  const std::size_t row_parts = parts(m, tile_rows);
  const std::size_t depth_parts = std::max<std::size_t>(parts(k, depth_block), 1);
  for (std::size_t j = 0; j < n; j += column_block) {
    const std::size_t columns = std::min(column_block, n - j);
    for (std::size_t part = 0; part < depth_parts; ++part) {
      const core::Range depth = core::part_of(k, depth_parts, part);
      pack_right(depth.size(), columns, from(b, depth.begin, j), right);
      // From the last rows to the first: of weights that are updated here, the next forward pass finds those in cache that it
      // reads first.
      for (std::size_t i = row_parts; i-- > 0;) {
        const core::Range rows = core::part_of(m, row_parts, i);
        pack_left(rows.size(), depth.size(), from(a, rows.begin, depth.begin), left);
        const bool last = finish != nullptr && part + 1 == depth_parts;
        for (std::size_t t = 0; t < columns; t += tile_columns) {
          if (last) prefetch(rows.size(), n, finish->reads(), rows.begin * n + j + t);
          const std::size_t width = std::min(tile_columns, columns - t);
          const Tile tile = find_tile(rows.size(), width, by_columns);
          tile(depth.size(), left, right + t * depth.size(), part == 0 ? keep : 1.f, width, n, c + rows.begin * n + j + t);
        }
        if (last) (*finish)(rows.begin, rows.size(), j, columns);
      }
    }
  }
}

const char* instruction_set() {
  if (lanes == 16) return "AVX-512";
  return lanes == 8 ? "AVX2" : "portable";
}

}  // namespace paragrad::backend::cpu
