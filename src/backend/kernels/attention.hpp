#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/kernel.hpp"
#include "backend/kernels/window_rows.hpp"

/// Causal attention with several heads (Vaswani et al., NeurIPS 2017): of each sequence and head, with queries q, keys k and
/// values v of `width` numbers per row,
///
///   y_i = Σ_j p_ij v_j over the rows j ≤ i of the sequence, p_ij = exp(s_ij) / Σ_j exp(s_ij), s_ij = q_i·k_j / sqrt(width)
///
/// Only log Σ_j exp(s_ij) is kept for the backward pass, which computes p again (Dao et al., NeurIPS 2022), so memory is
/// linear in the length of the sequences. What belongs to a sequence does not depend on the others.
namespace paragrad::backend {

struct AttentionShape {
  WindowRows rows;
  std::size_t heads, width;

  PARAGRAD_HOST_DEVICE std::size_t outputs() const { return heads * width; }
  /// Of the query, key or value (part 0, 1, 2) of a head in a row of x, [3][heads][width].
  PARAGRAD_HOST_DEVICE std::size_t input(std::size_t row, std::size_t part, std::size_t head) const {
    return (3 * row + part) * outputs() + head * width;
  }
  PARAGRAD_HOST_DEVICE std::size_t output(std::size_t row, std::size_t head) const { return row * outputs() + head * width; }

  /// Of so many products over the causal half of all heads, and `accesses` to arrays of outputs().
  KernelCost cost(std::uint64_t products, std::uint64_t accesses) const {
    KernelCost cost{{rows.sequences * heads, width, rows.steps * (rows.steps + 1) / 2}, {}};
    const std::uint64_t all = cost.size[0] * cost.size[1] * cost.size[2];
    cost.work.add(KernelKind::gemm, 2 * products * all, sizeof(float) * accesses * rows.size() * outputs());
    return cost;
  }
};

/// For calibration: one sequence with so many pairs of rows.
struct AttentionExample {
  AttentionShape shape;
  std::span<float> x, dx, y, dy, sums;

  AttentionExample(ExampleMemory& memory, std::size_t heads, std::size_t width, std::size_t pairs)
      : shape{{1, steps_of(pairs)}, heads, width} {
    const std::size_t all = shape.rows.size() * shape.outputs();
    const auto part = [&](std::size_t begin, std::size_t size) { return memory.all_activations().subspan(begin, size); };
    x = part(0, 3 * all), dx = part(3 * all, 3 * all), y = part(6 * all, all), dy = part(7 * all, all);
    sums = part(8 * all, shape.rows.size() * heads);
  }
  /// Floats per row, head and number of it, at most.
  static constexpr std::size_t floats = 9;

  static std::size_t steps_of(std::size_t pairs) {
    return static_cast<std::size_t>(std::lround((std::sqrt(8 * static_cast<double>(pairs) + 1) - 1) / 2));
  }
};

template <class Real>
struct AttentionForwardOf {
  static constexpr KernelId id = KernelId::attention_forward;

  AttentionShape shape;
  std::span<const Real> x;  ///< [rows][3][heads][width]: queries, keys, values
  std::span<Real> sums;     ///< [rows][heads]: log Σ_j exp(s_ij)
  std::span<Real> y;        ///< [rows][heads][width]

  void check() const {
    expect_size(id, "x", x.size(), 3 * shape.rows.size() * shape.outputs());
    expect_size(id, "sums", sums.size(), shape.rows.size() * shape.heads);
    expect_size(id, "y", y.size(), shape.rows.size() * shape.outputs());
  }
  KernelCost cost() const { return shape.cost(2, 4); }

  /// An element is a head of a row.
  std::size_t elements() const { return shape.rows.size() * shape.heads; }
  PARAGRAD_HOST_DEVICE void element(std::size_t e) const {
    const std::size_t row = e / shape.heads, head = e % shape.heads, last = shape.rows.step_of(row);
    Real* const into = y.data() + shape.output(row, head);
    for (std::size_t c = 0; c < shape.width; ++c) into[c] = 0;
    Real largest = -std::numeric_limits<Real>::infinity(), sum = 0;
    for (std::size_t j = 0; j <= last; ++j) largest = std::max(largest, score(row, key_row(row, j), head));
    for (std::size_t j = 0; j <= last; ++j) {
      const std::size_t key = key_row(row, j);
      const Real p = std::exp(score(row, key, head) - largest);
      const Real* const v = x.data() + shape.input(key, 2, head);
      sum += p;
      for (std::size_t c = 0; c < shape.width; ++c) into[c] += p * v[c];
    }
    for (std::size_t c = 0; c < shape.width; ++c) into[c] /= sum;
    sums[e] = largest + std::log(sum);
  }

  PARAGRAD_HOST_DEVICE std::size_t key_row(std::size_t row, std::size_t step) const {
    return shape.rows.row(step, shape.rows.sequence_of(row));
  }
  PARAGRAD_HOST_DEVICE Real score(std::size_t query, std::size_t key, std::size_t head) const {
    const Real *q = x.data() + shape.input(query, 0, head), *k = x.data() + shape.input(key, 1, head);
    Real sum = 0;
    for (std::size_t c = 0; c < shape.width; ++c) sum += q[c] * k[c];
    return sum / std::sqrt(static_cast<Real>(shape.width));
  }
  static constexpr ExampleSizes example_sizes = ExampleSizes::heads_width_pairs;
  static Example<AttentionForwardOf> example(ExampleMemory& memory, std::size_t heads, std::size_t width,
                                             std::size_t pairs) {
    return [at = AttentionExample(memory, heads, width, pairs)] {
      return AttentionForwardOf{at.shape, at.x, at.sums, at.y};
    };
  }
};
using AttentionForward = AttentionForwardOf<float>;

/// dx = keep·dx + the gradient.
template <class Real>
struct AttentionBackwardOf {
  static constexpr KernelId id = KernelId::attention_backward;

  AttentionShape shape;
  std::span<const Real> x, sums, y, dy;
  Real keep;
  std::span<Real> dx;

  void check() const {
    expect_size(id, "x", x.size(), 3 * shape.rows.size() * shape.outputs());
    expect_size(id, "sums", sums.size(), shape.rows.size() * shape.heads);
    expect_size(id, "y", y.size(), shape.rows.size() * shape.outputs());
    expect_size(id, "dy", dy.size(), shape.rows.size() * shape.outputs());
    expect_size(id, "dx", dx.size(), 3 * shape.rows.size() * shape.outputs());
  }
  KernelCost cost() const { return shape.cost(5, 8); }

  /// An element is a head of a row: its query against the rows before, its key and its value against those after it.
  std::size_t elements() const { return shape.rows.size() * shape.heads; }
  PARAGRAD_HOST_DEVICE void element(std::size_t e) const {
    const std::size_t row = e / shape.heads, head = e % shape.heads, step = shape.rows.step_of(row);
    Real* const into = dx.data();
    for (std::size_t part = 0; part < 3; ++part)
      for (std::size_t c = 0; c < shape.width; ++c) {
        Real& d = into[shape.input(row, part, head) + c];
        d = keep == 0 ? Real(0) : keep * d;
      }
    for (std::size_t j = 0; j <= step; ++j) {
      const std::size_t key = shape.rows.row(j, shape.rows.sequence_of(row));
      const Real d = pair(row, key, head).score;
      for (std::size_t c = 0; c < shape.width; ++c)
        into[shape.input(row, 0, head) + c] += d * x[shape.input(key, 1, head) + c];
    }
    for (std::size_t i = step; i < shape.rows.steps; ++i) {
      const std::size_t query = shape.rows.row(i, shape.rows.sequence_of(row));
      const Pair of = pair(query, row, head);
      for (std::size_t c = 0; c < shape.width; ++c) {
        into[shape.input(row, 1, head) + c] += of.score * x[shape.input(query, 0, head) + c];
        into[shape.input(row, 2, head) + c] += of.p * dy[shape.output(query, head) + c];
      }
    }
  }

  struct Pair {
    Real p;
    Real score;  ///< the gradient of q·k
  };
  PARAGRAD_HOST_DEVICE Pair pair(std::size_t query, std::size_t key, std::size_t head) const {
    const Real scale = 1 / std::sqrt(static_cast<Real>(shape.width));
    const Real *q = x.data() + shape.input(query, 0, head), *k = x.data() + shape.input(key, 1, head),
               *v = x.data() + shape.input(key, 2, head);
    const Real *out = y.data() + shape.output(query, head), *d = dy.data() + shape.output(query, head);
    Real score = 0, along = 0, mean = 0;
    for (std::size_t c = 0; c < shape.width; ++c) {
      score += q[c] * k[c];
      along += d[c] * v[c];
      mean += d[c] * out[c];
    }
    const Real p = std::exp(scale * score - sums[query * shape.heads + head]);
    return {p, scale * p * (along - mean)};
  }
  static constexpr ExampleSizes example_sizes = ExampleSizes::heads_width_pairs;
  static Example<AttentionBackwardOf> example(ExampleMemory& memory, std::size_t heads, std::size_t width,
                                              std::size_t pairs) {
    return [at = AttentionExample(memory, heads, width, pairs)] {
      return AttentionBackwardOf{at.shape, at.x, at.sums, at.y, at.dy, 0, at.dx};
    };
  }
};
using AttentionBackward = AttentionBackwardOf<float>;

}  // namespace paragrad::backend
