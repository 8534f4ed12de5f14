#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "backend/gpu_kernels/gpu_context.hpp"
#include "backend/gpu_kernels/grid.hpp"
#include "backend/gpu_kernels/streams.hpp"
#include "backend/kernels/attention.hpp"

/// Attention in tiles of 32 × 32 scores, which never leave the block (Dao et al., NeurIPS 2022): a block takes the rows of a
/// tile as queries, or as keys, through all tiles that they see. Sums are in the order of the rows, whatever else is in the
/// minibatch.
namespace paragrad::backend::gpu_kernels {

inline constexpr std::uint32_t attention_side = 32, attention_threads = 256;

using AttentionTile = float[attention_side][attention_side + 1];  // one more, so that a column lies in different banks

/// What a row of a sequence has for a head.
template <class T>
struct HeadRows {
  T* first;
  std::size_t stride;

  PARAGRAD_HOST_DEVICE T* at(std::size_t step) const { return first + step * stride; }
};

/// A tile of rows of one sequence, for one head.
struct AttentionPlace {
  AttentionShape shape;
  std::size_t sequence, head, tile;

  PARAGRAD_HOST_DEVICE static std::size_t tiles(const AttentionShape& shape) {
    return blocks_for(shape.rows.steps, attention_side);
  }
  static std::size_t blocks(const AttentionShape& shape) { return shape.rows.sequences * shape.heads * tiles(shape); }

  /// The tiles with the most work come first if they are the last ones.
  PARAGRAD_HOST_DEVICE static AttentionPlace of(const AttentionShape& shape, std::size_t block, bool last_first) {
    const auto [number, within] = core::divide(block, shape.rows.sequences * shape.heads);
    const auto [sequence, head] = core::divide(within, shape.heads);
    return {shape, sequence, head, last_first ? tiles(shape) - 1 - number : number};
  }

  PARAGRAD_HOST_DEVICE std::size_t first() const { return tile * attention_side; }
  PARAGRAD_HOST_DEVICE std::size_t row(std::size_t step) const { return shape.rows.row(step, sequence); }

  /// part: of x, 0 to 2.
  template <class T>
  PARAGRAD_HOST_DEVICE HeadRows<T> inputs(T* x, std::size_t part) const {
    return {x + shape.input(row(0), part, head), 3 * shape.rows.sequences * shape.outputs()};
  }
  template <class T>
  PARAGRAD_HOST_DEVICE HeadRows<T> outputs(T* y) const {
    return {y + shape.output(row(0), head), shape.rows.sequences * shape.outputs()};
  }
};

struct AttentionStage {
  AttentionTile a, b;
};

/// Columns begin, begin + 1, … of the rows from `first` on; zeros beyond them.
template <class T>
PARAGRAD_HOST_DEVICE void load_tile(const Block& block, const AttentionShape& shape, HeadRows<T> rows, std::size_t first,
                                    std::size_t begin, AttentionTile& tile) {
  block.each_of(attention_side * attention_side, [&](std::size_t k) {
    const std::size_t i = k / attention_side, c = k % attention_side;
    tile[i][c] = first + i < shape.rows.steps && begin + c < shape.width ? rows.at(first + i)[begin + c] : 0;
  });
}

/// to[i][j] = a_i·b_j of the rows from first_a and first_b on.
template <class T>
PARAGRAD_HOST_DEVICE void multiply_rows(const Block& block, const AttentionShape& shape, HeadRows<T> a, std::size_t first_a,
                                        HeadRows<T> b, std::size_t first_b, AttentionStage& stage, AttentionTile& to) {
  for (std::size_t begin = 0; begin < shape.width; begin += attention_side) {
    load_tile(block, shape, a, first_a, begin, stage.a);
    load_tile(block, shape, b, first_b, begin, stage.b);
    block.each([&](std::uint32_t thread) {
      constexpr std::uint32_t apart = attention_threads / attention_side, many = attention_side / apart;
      const std::uint32_t j = thread % attention_side, i = thread / attention_side;
      float sums[many];
      for (std::uint32_t k = 0; k < many; ++k) sums[k] = begin == 0 ? 0 : to[i + k * apart][j];
      for (std::uint32_t c = 0; c < attention_side; ++c)
        for (std::uint32_t k = 0; k < many; ++k) sums[k] += stage.a[i + k * apart][c] * stage.b[j][c];
      for (std::uint32_t k = 0; k < many; ++k) to[i + k * apart][j] = sums[k];
    });
  }
}

/// into_i = factor(i)·into_i + Σ_j weight(i, j)·b_j for the rows from first_into and first_b on. A factor of 0 ignores what
/// was there.
template <class T, class Factor, class Weight>
PARAGRAD_HOST_DEVICE void add_weighted(const Block& block, const AttentionShape& shape, HeadRows<float> into,
                                       std::size_t first_into, HeadRows<T> b, std::size_t first_b, AttentionTile& stage,
                                       const Factor& factor, const Weight& weight) {
  for (std::size_t begin = 0; begin < shape.width; begin += attention_side) {
    load_tile(block, shape, b, first_b, begin, stage);
    block.each([&](std::uint32_t thread) {
      constexpr std::uint32_t apart = attention_threads / attention_side, many = attention_side / apart;
      const std::uint32_t c = thread % attention_side, i = thread / attention_side;
      float sums[many]{};
      for (std::uint32_t j = 0; j < attention_side; ++j)
        for (std::uint32_t k = 0; k < many; ++k) {
          const float p = weight(i + k * apart, j);
          if (p != 0) sums[k] += p * stage[j][c];  // rows that are not seen may hold anything
        }
      if (begin + c >= shape.width) return;
      for (std::uint32_t k = 0; k < many; ++k) {
        const std::size_t step = first_into + i + k * apart;
        if (step >= shape.rows.steps) continue;
        float& old = into.at(step)[begin + c];
        old = accumulate(sums[k], factor(i + k * apart), old);
      }
    });
  }
}

/// Whether query i of a tile sees key j of another one.
PARAGRAD_HOST_DEVICE inline bool sees(const AttentionShape& shape, std::size_t query, std::size_t key) {
  return key <= query && query < shape.rows.steps;
}

/// A tile of queries.
struct Attend {
  static constexpr const char* name = "attention";
  static constexpr std::uint32_t threads = attention_threads;
  struct Shared {
    AttentionStage stage;
    AttentionTile p;
    float largest[attention_side], sums[attention_side], factors[attention_side];
  };

  AttentionShape shape;
  const float* x;
  float *sums, *y;

  std::size_t blocks() const { return AttentionPlace::blocks(shape); }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    const AttentionPlace place = AttentionPlace::of(shape, block.index, true);
    const HeadRows<const float> queries = place.inputs(x, 0), keys = place.inputs(x, 1), values = place.inputs(x, 2);
    const HeadRows<float> outputs = place.outputs(y);
    const std::size_t first = place.first();
    block.each_of(attention_side, [&](std::size_t i) {
      shared.largest[i] = -std::numeric_limits<float>::infinity();
      shared.sums[i] = 0;
    });
    for (std::size_t tile = 0; tile <= place.tile; ++tile) {
      const std::size_t first_key = tile * attention_side;
      multiply_rows(block, shape, queries, first, keys, first_key, shared.stage, shared.p);
      weigh(block, shared, first, first_key);
      add_weighted(
          block, shape, outputs, first, values, first_key, shared.stage.a,
          [&](std::uint32_t i) { return shared.factors[i]; },
          [&](std::uint32_t i, std::uint32_t j) { return shared.p[i][j]; });
    }
    block.each_of(attention_side * shape.width, [&](std::size_t k) {
      const auto [i, c] = core::divide(k, shape.width);
      if (first + i < shape.rows.steps) outputs.at(first + i)[c] /= shared.sums[i];
    });
    block.each_of(attention_side, [&](std::size_t i) {
      if (first + i < shape.rows.steps)
        sums[place.row(first + i) * shape.heads + place.head] = shared.largest[i] + std::log(shared.sums[i]);
    });
  }

 private:
  /// From scores to weights, relative to the largest score so far; factors: what that makes of the earlier ones.
  PARAGRAD_HOST_DEVICE void weigh(const Block& block, Shared& shared, std::size_t first, std::size_t first_key) const {
    const float scale = 1 / std::sqrt(static_cast<float>(shape.width));
    block.each_of(attention_side, [&](std::size_t i) {
      float largest = shared.largest[i];
      for (std::uint32_t j = 0; j < attention_side; ++j)
        if (sees(shape, first + i, first_key + j)) largest = std::max(largest, scale * shared.p[i][j]);
      shared.factors[i] = first_key == 0 ? 0 : std::exp(shared.largest[i] - largest);
      shared.largest[i] = largest;
    });
    block.each_of(attention_side * attention_side, [&](std::size_t k) {
      const std::size_t i = k / attention_side, j = k % attention_side;
      float& p = shared.p[i][j];
      p = sees(shape, first + i, first_key + j) ? std::exp(scale * p - shared.largest[i]) : 0;
    });
    block.each_of(attention_side, [&](std::size_t i) {
      float sum = shared.factors[i] * shared.sums[i];
      for (std::uint32_t j = 0; j < attention_side; ++j) sum += shared.p[i][j];
      shared.sums[i] = sum;
    });
  }
};

/// means[row][head] = Σ dy·y, which every score's gradient needs.
struct AttentionMeans {
  static constexpr const char* name = "attention: means";
  AttentionShape shape;
  const float *y, *dy;
  float* means;

  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const {
    float sum = 0;
    for (std::size_t c = 0; c < shape.width; ++c) sum += y[i * shape.width + c] * dy[i * shape.width + c];
    means[i] = sum;
  }
};

/// A tile of queries, or of keys and their values.
template <bool of_queries>
struct AttentionGradient {
  static constexpr const char* name = of_queries ? "attention: queries" : "attention: keys and values";
  static constexpr std::uint32_t threads = attention_threads;
  struct Shared {
    AttentionStage stage;
    AttentionTile p, d;  ///< [query][key]: weights, gradients of q·k
  };

  AttentionShape shape;
  const float *x, *sums, *dy, *means;
  float keep;
  float* dx;

  std::size_t blocks() const { return AttentionPlace::blocks(shape); }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    const AttentionPlace place = AttentionPlace::of(shape, block.index, of_queries);
    const std::size_t first = place.first();
    const HeadRows<const float> queries = place.inputs(x, 0), keys = place.inputs(x, 1), gradients = place.outputs(dy);
    const std::size_t begin = of_queries ? 0 : place.tile, end = of_queries ? place.tile + 1 : AttentionPlace::tiles(shape);
    for (std::size_t tile = begin; tile < end; ++tile) {
      const std::size_t other = tile * attention_side;
      weigh(block, shared, place, of_queries ? first : other, of_queries ? other : first);
      const auto factor = [&](std::uint32_t) { return tile == begin ? keep : 1.0f; };
      if constexpr (of_queries) {
        add_weighted(block, shape, place.inputs(dx, 0), first, keys, other, shared.stage.a, factor,
                     [&](std::uint32_t i, std::uint32_t j) { return shared.d[i][j]; });
      } else {
        add_weighted(block, shape, place.inputs(dx, 1), first, queries, other, shared.stage.a, factor,
                     [&](std::uint32_t key, std::uint32_t query) { return shared.d[query][key]; });
        add_weighted(block, shape, place.inputs(dx, 2), first, gradients, other, shared.stage.a, factor,
                     [&](std::uint32_t key, std::uint32_t query) { return shared.p[query][key]; });
      }
    }
  }

 private:
  PARAGRAD_HOST_DEVICE void weigh(const Block& block, Shared& shared, const AttentionPlace& place, std::size_t first,
                                  std::size_t first_key) const {
    const float scale = 1 / std::sqrt(static_cast<float>(shape.width));
    const HeadRows<const float> values = place.inputs(x, 2), gradients = place.outputs(dy);
    multiply_rows(block, shape, place.inputs(x, 0), first, place.inputs(x, 1), first_key, shared.stage, shared.p);
    multiply_rows(block, shape, gradients, first, values, first_key, shared.stage, shared.d);
    block.each_of(attention_side * attention_side, [&](std::size_t k) {
      const std::size_t i = k / attention_side, j = k % attention_side;
      float &p = shared.p[i][j], &d = shared.d[i][j];
      if (sees(shape, first + i, first_key + j)) {
        const std::size_t at = place.row(first + i) * shape.heads + place.head;
        p = std::exp(scale * p - sums[at]);
        d = scale * p * (d - means[at]);
      } else {
        p = d = 0;
      }
    });
  }
};

// ---- bodies ----

void run(auto& gpu, const AttentionForward& kernel) {
  const auto& [shape, x, sums, y] = kernel;
  if (!y.empty()) gpu(Attend{shape, x.data(), sums.data(), y.data()});
}

void run(auto& gpu, const AttentionBackward& kernel) {
  const auto& [shape, x, sums, y, dy, keep, dx] = kernel;
  if (y.empty()) return;
  auto* const means = gpu.template scratch<float>("attention", sums.size());
  gpu(Stream<AttentionMeans>{sums.size(), {shape, y.data(), dy.data(), means}});
  gpu(AttentionGradient<true>{shape, x.data(), sums.data(), dy.data(), means, keep, dx.data()});
  gpu(AttentionGradient<false>{shape, x.data(), sums.data(), dy.data(), means, keep, dx.data()});
}

}  // namespace paragrad::backend::gpu_kernels
