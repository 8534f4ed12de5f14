#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "backend/cpu/tile.hpp"
#include "backend/cpu/vector.hpp"
#include "core/arena.hpp"

// Tiles of convolutions, held in registers like those of products (tile.hpp).
namespace paragrad::backend::cpu {

inline constexpr std::size_t half_cache = 128 * 1024;  ///< floats: half of an L2 cache

/// Scratch memory of that many floats at least.
inline float* grown(core::Arena& memory, std::size_t floats) {
  if (memory.size() < floats) memory = core::host_arena(floats);
  return memory.span().data();
}

/// What a window sees: runs of `depth` floats, at these distances from its first place.
struct Runs {
  std::vector<std::size_t> offsets;
  std::size_t depth;
};

/// C[rows][columns] = keep·C + A·B: row i of A are the runs that begin at a + i·step; B is packed, [runs · depth][panel].
using WindowTile = void (*)(const Runs& runs, const float* a, std::size_t step, const float* b, float keep,
                            std::size_t columns, std::size_t stride, float* c);

/// C[rows][columns] = keep·C + AᵀB over the positions of windows: rows of `positions` windows, which begin at a + band row;
/// A has a row of `rows` floats for each position, `step` apart, and B one of `columns`, `width` apart.
struct Positions {
  const std::vector<std::size_t>& begins;
  std::size_t in_row, step, width;
};
using PositionTile = void (*)(const Positions& positions, const float* a, const float* b, float keep, std::size_t columns,
                              std::size_t stride, float* c);

template <std::size_t rows, std::size_t vectors>
void put(const Vector (&sum)[rows][vectors], float keep, std::size_t columns, std::size_t stride, float* c) {
  const std::size_t last = columns - (vectors - 1) * lanes;
#pragma GCC unroll 28
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t v = 0; v < vectors; ++v) {
      float* const to = c + i * stride + v * lanes;
      if (v + 1 < vectors || last == lanes)
        store(keep == 0 ? sum[i][v] : multiply_add(broadcast(keep), load(to), sum[i][v]), to);
      else
        store_part(keep == 0 ? sum[i][v] : multiply_add(broadcast(keep), load_part(to, last), sum[i][v]), to, last);
    }
}

template <std::size_t rows, std::size_t vectors>
void window_tile(const Runs& runs, const float* a, std::size_t step, const float* b, float keep, std::size_t columns,
                 std::size_t stride, float* c) {
  Vector sum[rows][vectors] = {};
  for (const std::size_t offset : runs.offsets) {
    const float* const run = a + offset;
#pragma GCC unroll 4
    for (std::size_t l = 0; l < runs.depth; ++l, b += vectors * lanes) {
      const Vector b0 = load(b), b1 = vectors == 2 ? load(b + lanes) : b0;
#pragma GCC unroll 28
      for (std::size_t i = 0; i < rows; ++i) {
        const Vector factor = broadcast(run[i * step + l]);
        sum[i][0] = multiply_add(factor, b0, sum[i][0]);
        if constexpr (vectors == 2) sum[i][1] = multiply_add(factor, b1, sum[i][1]);
      }
    }
  }
  put(sum, keep, columns, stride, c);
}

template <std::size_t rows, std::size_t vectors>
void position_tile(const Positions& positions, const float* a, const float* b, float keep, std::size_t columns,
                   std::size_t stride, float* c) {
  Vector sum[rows][vectors] = {};
  for (const std::size_t begin : positions.begins) {
    const float* from = a + begin;
#pragma GCC unroll 2
    for (std::size_t p = 0; p < positions.in_row; ++p, from += positions.step, b += positions.width) {
      const Vector b0 = load(b), b1 = vectors == 2 ? load(b + lanes) : b0;
#pragma GCC unroll 28
      for (std::size_t i = 0; i < rows; ++i) {
        const Vector factor = broadcast(from[i]);
        sum[i][0] = multiply_add(factor, b0, sum[i][0]);
        if constexpr (vectors == 2) sum[i][1] = multiply_add(factor, b1, sum[i][1]);
      }
    }
  }
  put(sum, keep, columns, stride, c);
}

template <std::size_t vectors, std::size_t... r>
constexpr std::array<WindowTile, sizeof...(r)> window_tiles_of(std::index_sequence<r...>) {
  return {window_tile<r + 1, vectors>...};
}
template <std::size_t vectors, std::size_t... r>
constexpr std::array<PositionTile, sizeof...(r)> position_tiles_of(std::index_sequence<r...>) {
  return {position_tile<r + 1, vectors>...};
}
/// A tile of one register's width may have twice the rows.
constexpr std::size_t most_rows(bool wide) { return wide ? tile_rows : 2 * tile_rows; }
template <bool wide>
inline constexpr auto window_tiles = window_tiles_of<wide ? 2 : 1>(std::make_index_sequence<most_rows(wide)>());
template <bool wide>
inline constexpr auto position_tiles = position_tiles_of<wide ? 2 : 1>(std::make_index_sequence<most_rows(wide)>());

inline WindowTile find_window_tile(std::size_t rows, bool wide) {
  return wide ? window_tiles<true>[rows - 1] : window_tiles<false>[rows - 1];
}
inline PositionTile find_position_tile(std::size_t rows, bool wide) {
  return wide ? position_tiles<true>[rows - 1] : position_tiles<false>[rows - 1];
}

}  // namespace paragrad::backend::cpu
