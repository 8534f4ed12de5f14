#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "backend/cpu/vector.hpp"

namespace paragrad::backend::cpu {

// A tile of C is held in registers: 14×2 of 32 (AVX-512), 6×2 of 16 (AVX2), 4×2 of 16 (SSE2).
#if defined(__AVX512F__)
inline constexpr std::size_t tile_rows = 14;
#elif defined(__AVX__)
inline constexpr std::size_t tile_rows = 6;
#else
inline constexpr std::size_t tile_rows = 4;
#endif
inline constexpr std::size_t tile_columns = 2 * lanes;
inline constexpr std::size_t depth_block = 128;              ///< a packed panel of B, [128][32], stays in the L1 cache
inline constexpr std::size_t packed_row = depth_block + 16;  ///< stride of a packed row of A: no power of two
inline constexpr std::size_t packed_column = 16;             ///< stride of a packed column of A: a cache line

inline constexpr std::size_t cache_line_floats = 16;

/// How many parts of at most that length there are.
constexpr std::size_t parts(std::size_t length, std::size_t largest) { return (length + largest - 1) / largest; }

/// One address per step of depth, `stride` floats apart.
struct Walk {
  const float* first;
  std::size_t stride;
};

/// C[rows][columns] = keep·C + A·B, with A packed by rows (stride packed_row) or by columns (packed_column) and the rows of
/// B along a walk, vectors·lanes floats each. C is not read where keep is 0. `ahead` is data that a later call will read:
/// one cache line per step is prefetched to the L2 cache during the arithmetic, which a burst of prefetches would stall.
using Tile = void (*)(std::size_t depth, const float* a, Walk b, Walk ahead, float keep, std::size_t columns,
                      std::size_t stride, float* c);

template <std::size_t rows, std::size_t vectors, bool by_columns>
void tile(std::size_t depth, const float* a, Walk b, Walk ahead, float keep, std::size_t columns, std::size_t stride,
          float* c) {
#pragma GCC unroll 14
  for (std::size_t i = 0; i < rows; ++i) {  // needed only after the sums: hides the memory latency
    __builtin_prefetch(c + i * stride, 1);
    __builtin_prefetch(c + i * stride + vectors * lanes - 1, 1);
  }
  Vector sum[rows][vectors] = {};
  for (std::size_t l = 0; l < depth; ++l) {
    __builtin_prefetch(ahead.first, 0, 2);
    const Vector b0 = load(b.first), b1 = vectors == 2 ? load(b.first + lanes) : b0;
#pragma GCC unroll 14
    for (std::size_t i = 0; i < rows; ++i) {
      const Vector factor = broadcast(a[i * (by_columns ? 1 : packed_row)]);
      sum[i][0] = multiply_add(factor, b0, sum[i][0]);
      if constexpr (vectors == 2) sum[i][1] = multiply_add(factor, b1, sum[i][1]);
    }
    a += by_columns ? packed_column : 1;
    b.first += b.stride;
    ahead.first += ahead.stride;
  }
  // Hides that these are the addresses prefetched above: held over the loop, they would drive sums out of the registers.
  asm("" : "+r"(c), "+r"(stride));
  constexpr std::size_t before_last = (vectors - 1) * lanes;
  const std::size_t last = columns - before_last;  // columns in the last vector, 1 … lanes
#pragma GCC unroll 14
  for (std::size_t i = 0; i < rows; ++i) {
    float* to = c + i * stride;
    if constexpr (vectors == 2) store(keep == 0 ? sum[i][0] : multiply_add(broadcast(keep), load(to), sum[i][0]), to);
    to += before_last;
    const Vector s = sum[i][vectors - 1];
    if (last == lanes) {
      store(keep == 0 ? s : multiply_add(broadcast(keep), load(to), s), to);
    } else {
      store_part(keep == 0 ? s : multiply_add(broadcast(keep), load_part(to, last), s), to, last);
    }
  }
}

template <std::size_t vectors, bool by_columns, std::size_t... r>
constexpr std::array<Tile, sizeof...(r)> tiles_of(std::index_sequence<r...>) {
  return {tile<r + 1, vectors, by_columns>...};
}
/// tiles<vectors, by_columns>[rows - 1]
template <std::size_t vectors, bool by_columns>
inline constexpr auto tiles = tiles_of<vectors, by_columns>(std::make_index_sequence<tile_rows>());

inline Tile find_tile(std::size_t rows, std::size_t columns, bool by_columns) {
  if (columns <= lanes) return by_columns ? tiles<1, true>[rows - 1] : tiles<1, false>[rows - 1];
  return by_columns ? tiles<2, true>[rows - 1] : tiles<2, false>[rows - 1];
}

}  // namespace paragrad::backend::cpu
