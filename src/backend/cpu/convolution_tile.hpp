#pragma once

#include <cstddef>
#include <vector>

#include "backend/cpu/tile.hpp"
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

/// A tile of one register's width may have twice the rows.
constexpr std::size_t most_rows(bool wide) { return wide ? tile_rows : 2 * tile_rows; }
WindowTile find_window_tile(std::size_t rows, bool wide);
PositionTile find_position_tile(std::size_t rows, bool wide);

}  // namespace paragrad::backend::cpu
