#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "backend/cpu/bodies.hpp"
#include "backend/cpu/softmax.hpp"
#include "backend/cpu/transpose.hpp"
#include "backend/cpu/vector.hpp"

// One head of one sequence at a time. Its rows lie far apart in memory, at distances that would put many of them into the
// same few sets of the cache, so they are copied first, padded to whole vectors; keys (in the backward pass values, too)
// also as columns, so that the scores of a row lie in vectors. Tiles of a few rows by two vectors are held in registers.
// Rows of queries come in groups that begin at multiples of `group`, and sums run in the order of the sequence, so that a
// row's bits depend on the rows before it alone.
namespace paragrad::backend::cpu {
namespace {

#if defined(__AVX512F__)
constexpr std::size_t group = 8;
#else
constexpr std::size_t group = 4;
#endif
constexpr std::size_t block = 64;  // rows of queries whose probabilities the backward pass holds
constexpr float nothing = -std::numeric_limits<float>::infinity();

constexpr std::size_t whole_vectors(std::size_t count) { return (count + lanes - 1) / lanes * lanes; }

/// into[i][j] = Σ_k factors[i·row + k·step] · from[k][j] for `rows` rows i and `vectors` vectors of j; added if `adds`.
template <std::size_t rows, std::size_t vectors>
void sum_tile(std::size_t terms, const float* factors, std::size_t row, std::size_t step, const float* from,
              std::size_t from_stride, bool adds, float* into, std::size_t into_stride) {
  Vector sum[rows][vectors];
#pragma GCC unroll 8
  for (std::size_t i = 0; i < rows; ++i)
#pragma GCC unroll 2
    for (std::size_t v = 0; v < vectors; ++v) sum[i][v] = adds ? load(into + i * into_stride + v * lanes) : Vector{};
  for (std::size_t k = 0; k < terms; ++k, factors += step, from += from_stride) {
    Vector right[vectors];
#pragma GCC unroll 2
    for (std::size_t v = 0; v < vectors; ++v) right[v] = load(from + v * lanes);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < rows; ++i) {
      const Vector factor = broadcast(factors[i * row]);
#pragma GCC unroll 2
      for (std::size_t v = 0; v < vectors; ++v) sum[i][v] = multiply_add(factor, right[v], sum[i][v]);
    }
  }
#pragma GCC unroll 8
  for (std::size_t i = 0; i < rows; ++i)
#pragma GCC unroll 2
    for (std::size_t v = 0; v < vectors; ++v) store(sum[i][v], into + i * into_stride + v * lanes);
}

struct Product {
  std::size_t rows;  ///< 1 … group
  std::size_t terms;
  const float* factors;  ///< of row i and term k: factors[i·row + k·step]
  std::size_t row, step;
  const float* from;
  std::size_t from_stride;
  std::size_t columns;  ///< whole vectors
  float* into;
  std::size_t into_stride;
  bool adds = false;
};

template <std::size_t rows>
void sum_rows(const Product& p) {
  std::size_t j = 0;
  for (; j + 2 * lanes <= p.columns; j += 2 * lanes)
    sum_tile<rows, 2>(p.terms, p.factors, p.row, p.step, p.from + j, p.from_stride, p.adds, p.into + j, p.into_stride);
  if (j < p.columns)
    sum_tile<rows, 1>(p.terms, p.factors, p.row, p.step, p.from + j, p.from_stride, p.adds, p.into + j, p.into_stride);
}

void compute(const Product& p) {
  [&]<std::size_t... n>(std::index_sequence<n...>) { (void)((n + 1 == p.rows ? (sum_rows<n + 1>(p), true) : false) || ...); }
  (std::make_index_sequence<group>());
}

/// One head of one sequence, and its scratch memory.
class Head {
 public:
  Head(const AttentionShape& shape, float* memory) : shape_(shape), next_(memory) {}

  std::size_t steps() const { return shape_.rows.steps; }
  std::size_t stride() const { return whole_vectors(shape_.width); }  ///< of copied rows
  std::size_t padded() const { return whole_vectors(steps()); }       ///< length of columns
  float scale() const { return 1 / std::sqrt(static_cast<float>(shape_.width)); }

  float* take_rows() { return take(steps() * stride()); }
  float* take_columns() { return take(shape_.width * padded()); }
  float* take_scores(std::size_t rows) { return take(rows * padded()); }

  void visit(std::size_t sequence, std::size_t head) { sequence_ = sequence, head_ = head; }
  std::size_t sum_place(std::size_t step) const { return row(step) * shape_.heads + head_; }
  const float* input(std::span<const float> x, std::size_t part, std::size_t step) const {
    return x.data() + shape_.input(row(step), part, head_);
  }
  float* input(std::span<float> x, std::size_t part, std::size_t step) const {
    return x.data() + shape_.input(row(step), part, head_);
  }
  const float* output(std::span<const float> y, std::size_t step) const {
    return y.data() + shape_.output(row(step), head_);
  }
  float* output(std::span<float> y, std::size_t step) const { return y.data() + shape_.output(row(step), head_); }

  /// at(step): a row of `width` numbers.
  template <class At>
  void copy_rows(float* into, const At& at) const {
    for (std::size_t t = 0; t < steps(); ++t) copy_row(at(t), into + t * stride());
  }
  void make_columns(const float* rows, float* into) const {
    transpose(steps(), shape_.width, rows, stride(), into, padded());
    for (std::size_t c = 0; c < shape_.width; ++c) std::fill(into + c * padded() + steps(), into + (c + 1) * padded(), 0.f);
  }
  template <class At>
  void write_rows(const float* from, float keep, const At& at) const {
    for (std::size_t t = 0; t < steps(); ++t) {
      const float* const row = from + t * stride();
      float* const into = at(t);
      if (keep == 0)
        transform(
            shape_.width, into, [](Vector d) { return d; }, row);
      else
        transform(
            shape_.width, into, [&](Vector d, Vector old) { return keep * old + d; }, row, into);
    }
  }

  /// into[i] = rows[i] · columns for `count` rows of which the last sees `seen` columns.
  void dot(std::size_t count, std::size_t seen, const float* rows, std::size_t row_stride, const float* columns,
           float* into) const {
    compute({count, shape_.width, rows, row_stride, 1, columns, padded(), whole_vectors(seen), into, padded()});
  }
  std::size_t input_stride() const { return 3 * shape_.rows.sequences * shape_.outputs(); }  ///< from step to step

  /// The product of an output with its gradient.
  float mean_slope(const float* y, const float* dy) const {
    Vector products{};
    std::size_t c = 0;
    for (; c + lanes <= shape_.width; c += lanes) products = multiply_add(load(y + c), load(dy + c), products);
    if (c < shape_.width)
      products = multiply_add(load_part(y + c, shape_.width - c), load_part(dy + c, shape_.width - c), products);
    float mean = 0;
    for (std::size_t l = 0; l < lanes; ++l) mean += products[l];
    return mean;
  }

 private:
  void copy_row(const float* from, float* into) const {
    std::size_t c = 0;
    for (; c + lanes <= shape_.width; c += lanes) store(load(from + c), into + c);
    if (c < shape_.width) store(load_part(from + c, shape_.width - c), into + c);
  }
  std::size_t row(std::size_t step) const { return shape_.rows.row(step, sequence_); }
  float* take(std::size_t count) { return std::exchange(next_, next_ + count); }

  const AttentionShape& shape_;
  float* next_;
  std::size_t sequence_ = 0, head_ = 0;
};

/// Of copied rows, columns and scores.
float* scratch(Workspace& workspace, const AttentionShape& shape, std::size_t rows, std::size_t columns,
               std::size_t scores) {
  const std::size_t padded = whole_vectors(shape.rows.steps);
  const std::size_t count = rows * shape.rows.steps * whole_vectors(shape.width) + (columns * shape.width + scores) * padded;
  if (workspace.attention.size() < count) workspace.attention = core::host_arena(count);
  return workspace.attention.span().data();
}

/// row = exp(scale·(row - largest)), in whole vectors; returns the sum.
float exponentiate_scaled(std::size_t seen, float scale, float largest, float* row) {
  Vector sums{};
  for (std::size_t j = 0; j < seen; j += lanes) {
    const Vector e = exponential((load(row + j) - largest) * scale);
    store(e, row + j);
    sums += e;
  }
  float sum = 0;
  for (std::size_t l = 0; l < lanes; ++l) sum += sums[l];
  return sum;
}

/// Scores that a row does not see, in the vectors of those that its group sees.
void hide(std::size_t seen, std::size_t end, float* row) { std::fill(row + seen, row + whole_vectors(end), nothing); }

template <class Visit>
void for_heads(const AttentionShape& shape, Head& head, const Visit& visit) {
  for (std::size_t s = 0; s < shape.rows.sequences; ++s)
    for (std::size_t h = 0; h < shape.heads; ++h) {
      head.visit(s, h);
      visit();
    }
}

}  // namespace

void run(Workspace& workspace, const AttentionForward& kernel) {
  const auto& [shape, x, sums, y] = kernel;
  Head head(shape, scratch(workspace, shape, 3, 1, group));
  float *const k = head.take_rows(), *const v = head.take_rows(), *const out = head.take_rows();
  float *const keys = head.take_columns(), *const scores = head.take_scores(group);
  const std::size_t stride = head.stride(), padded = head.padded();
  for_heads(shape, head, [&, &shape = shape, &x = x, &sums = sums, &y = y] {
    head.copy_rows(k, [&](std::size_t t) { return head.input(x, 1, t); });
    head.copy_rows(v, [&](std::size_t t) { return head.input(x, 2, t); });
    head.make_columns(k, keys);
    for (std::size_t begin = 0; begin < head.steps(); begin += group) {
      const std::size_t count = std::min(group, head.steps() - begin), end = begin + count;
      head.dot(count, end, head.input(x, 0, begin), head.input_stride(), keys, scores);
      float factors[group];
      for (std::size_t i = 0; i < count; ++i) {
        float* const row = scores + i * padded;
        const std::size_t seen = begin + i + 1;
        hide(seen, end, row);
        const float largest = largest_of(end, row), sum = exponentiate_scaled(end, head.scale(), largest, row);
        factors[i] = 1 / sum;
        sums[head.sum_place(begin + i)] = head.scale() * largest + std::log(sum);
      }
      compute({count, end, scores, padded, 1, v, stride, stride, out + begin * stride, stride});
      for (std::size_t i = 0; i < count; ++i)
        transform(
            shape.width, head.output(y, begin + i), [&](Vector o) { return o * factors[i]; }, out + (begin + i) * stride);
    }
  });
}

void run(Workspace& workspace, const AttentionBackward& kernel) {
  const auto& [shape, x, sums, y, dy, keep, dx] = kernel;
  Head head(shape, scratch(workspace, shape, 7, 2, 2 * block));
  float *const q = head.take_rows(), *const k = head.take_rows(), *const v = head.take_rows(),
               *const d_out = head.take_rows();
  float *const dq = head.take_rows(), *const dk = head.take_rows(), *const dv = head.take_rows();
  float *const keys = head.take_columns(), *const values = head.take_columns();
  float *const p = head.take_scores(block), *const d = head.take_scores(block);
  const std::size_t stride = head.stride(), padded = head.padded();
  for_heads(shape, head, [&, &x = x, &sums = sums, &y = y, &dy = dy, keep = keep, &dx = dx] {
    head.copy_rows(q, [&](std::size_t t) { return head.input(x, 0, t); });
    head.copy_rows(k, [&](std::size_t t) { return head.input(x, 1, t); });
    head.copy_rows(v, [&](std::size_t t) { return head.input(x, 2, t); });
    head.copy_rows(d_out, [&](std::size_t t) { return head.output(dy, t); });
    head.make_columns(k, keys);
    head.make_columns(v, values);
    for (std::size_t first = 0; first < head.steps(); first += block) {
      const std::size_t last = std::min(first + block, head.steps());
      for (std::size_t begin = first; begin < last; begin += group) {
        const std::size_t count = std::min(group, last - begin), end = begin + count;
        float *const probabilities = p + (begin - first) * padded, *const slopes = d + (begin - first) * padded;
        head.dot(count, end, q + begin * stride, stride, keys, probabilities);
        head.dot(count, end, d_out + begin * stride, stride, values, slopes);
        for (std::size_t i = 0; i < count; ++i) {
          const float mean = head.mean_slope(head.output(y, begin + i), d_out + (begin + i) * stride);
          float *const row = probabilities + i * padded, *const slope = slopes + i * padded;
          const float scale = head.scale(), log_sum = sums[head.sum_place(begin + i)];
          hide(begin + i + 1, end, row);
          for (std::size_t j = 0; j < end; j += lanes) {
            const Vector of = exponential(load(row + j) * scale - log_sum);
            store(of, row + j);
            store(of * (load(slope + j) - mean) * scale, slope + j);
          }
          std::fill(row + whole_vectors(end), row + whole_vectors(last), 0.f);
          std::fill(slope + whole_vectors(end), slope + whole_vectors(last), 0.f);
        }
        compute({count, end, slopes, padded, 1, k, stride, stride, dq + begin * stride, stride});
      }
      for (std::size_t key = 0; key < last; key += group) {  // the queries that see it begin with it
        const std::size_t count = std::min(group, last - key), from = std::max(key, first), rows = last - from;
        const std::size_t place = (from - first) * padded + key;
        compute(
            {count, rows, d + place, 1, padded, q + from * stride, stride, stride, dk + key * stride, stride, key < first});
        compute({count, rows, p + place, 1, padded, d_out + from * stride, stride, stride, dv + key * stride, stride,
                 key < first});
      }
    }
    head.write_rows(dq, keep, [&](std::size_t t) { return head.input(dx, 0, t); });
    head.write_rows(dk, keep, [&](std::size_t t) { return head.input(dx, 1, t); });
    head.write_rows(dv, keep, [&](std::size_t t) { return head.input(dx, 2, t); });
  });
}

}  // namespace paragrad::backend::cpu
