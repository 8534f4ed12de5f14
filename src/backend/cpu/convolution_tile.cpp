#include "backend/cpu/convolution_tile.hpp"

#include <array>
#include <utility>

#include "backend/cpu/vector.hpp"

namespace paragrad::backend::cpu {
namespace {

template <std::size_t rows, std::size_t vectors>
[[gnu::always_inline]] inline void put(const Vector (&sum)[rows][vectors], float keep, std::size_t columns,
                                       std::size_t stride, float* c) {
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
template <bool wide>
constexpr auto window_tiles = window_tiles_of<wide ? 2 : 1>(std::make_index_sequence<most_rows(wide)>());
template <bool wide>
constexpr auto position_tiles = position_tiles_of<wide ? 2 : 1>(std::make_index_sequence<most_rows(wide)>());

}  // namespace

WindowTile find_window_tile(std::size_t rows, bool wide) {
  return wide ? window_tiles<true>[rows - 1] : window_tiles<false>[rows - 1];
}
PositionTile find_position_tile(std::size_t rows, bool wide) {
  return wide ? position_tiles<true>[rows - 1] : position_tiles<false>[rows - 1];
}

}  // namespace paragrad::backend::cpu
