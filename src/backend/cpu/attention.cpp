#include <algorithm>
#include <cmath>
#include <utility>

#include "backend/cpu/bodies.hpp"
#include "backend/cpu/softmax.hpp"
#include "backend/cpu/transpose.hpp"
#include "backend/cpu/vector.hpp"

// Tiles of a few rows by two vectors are held in registers. Keys (and, in the backward pass, values) of a head are packed as
// columns, so that the scores of a row lie in vectors; everything else is read where it lies, by strides. Rows of queries
// come in groups that begin at multiples of `group`, and the sums of a row run over whole arrays in the order of the
// sequence, so that its bits depend on the rows before it alone.
namespace paragrad::backend::cpu {
namespace {

#if defined(__AVX512F__)
constexpr std::size_t group = 8;
#else
constexpr std::size_t group = 4;
#endif
constexpr std::size_t pair = 2 * lanes;
constexpr std::size_t block = 64;  // rows of queries whose probabilities the backward pass holds

constexpr std::size_t rounded_up(std::size_t count, std::size_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

/// Rows at equal distances.
struct Rows {
  const float* first;
  std::size_t stride;

  const float* operator[](std::size_t row) const { return first + row * stride; }
};

/// into[i][column] = from[i] · columns[][column] for `count` rows and a pair of vectors from `column` on.
template <std::size_t count>
void dot_tile(std::size_t width, Rows from, const float* columns, std::size_t stride, float* into) {
  Vector sum[count][2] = {};
  for (std::size_t c = 0; c < width; ++c) {
    const Vector left = load(columns + c * stride), right = load(columns + c * stride + lanes);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < count; ++i) {
      const Vector factor = broadcast(from[i][c]);
      sum[i][0] = multiply_add(factor, left, sum[i][0]);
      sum[i][1] = multiply_add(factor, right, sum[i][1]);
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    store(sum[i][0], into + i * stride);
    store(sum[i][1], into + i * stride + lanes);
  }
}

/// into[i] = keep·into[i] + Σ_j factors[i·row_stride + j·step] · from[j] for `count` rows i and the `columns` ≤ pair numbers
/// of a row.
template <std::size_t count>
void sum_tile(std::size_t terms, const float* factors, std::size_t row_stride, std::size_t step, Rows from,
              std::size_t columns, float keep, float* into, std::size_t stride) {
  const auto read = [&](const float* row, std::size_t v) {
    const std::size_t left = columns - std::min(columns, v * lanes);
    return left >= lanes ? load(row + v * lanes) : left == 0 ? Vector{} : load_part(row + v * lanes, left);
  };
  Vector sum[count][2] = {};
  for (std::size_t j = 0; j < terms; ++j) {
    const Vector left = read(from[j], 0), right = read(from[j], 1);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < count; ++i) {
      const Vector factor = broadcast(factors[i * row_stride + j * step]);
      sum[i][0] = multiply_add(factor, left, sum[i][0]);
      sum[i][1] = multiply_add(factor, right, sum[i][1]);
    }
  }
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t v = 0; v * lanes < columns; ++v) {
      float* const to = into + i * stride + v * lanes;
      const Vector result = keep == 0 ? sum[i][v] : multiply_add(broadcast(keep), read(into + i * stride, v), sum[i][v]);
      const std::size_t left = columns - v * lanes;
      left >= lanes ? store(result, to) : store_part(result, to, left);
    }
}

/// Calls body<n>() for n = count, which is 1 … group.
template <class Body>
void with_count(std::size_t count, const Body& body) {
  [&]<std::size_t... n>(std::index_sequence<n...>) {
    (void)((n + 1 == count ? (body.template operator()<n + 1>(), true) : false) || ...);
  }
  (std::make_index_sequence<group>());
}

/// The first `rows` of into += … of sum_tile, for all columns of a head.
void add_rows(std::size_t rows, std::size_t terms, const float* factors, std::size_t row_stride, std::size_t step, Rows from,
              std::size_t width, float keep, float* into, std::size_t stride) {
  with_count(rows, [&]<std::size_t count>() {
    for (std::size_t c = 0; c < width; c += pair)
      sum_tile<count>(terms, factors, row_stride, step, {from.first + c, from.stride}, std::min(pair, width - c), keep,
                      into + c, stride);
  });
}

/// One head of one sequence.
class Head {
 public:
  Head(const AttentionShape& shape, std::size_t sequence, std::size_t head)
      : shape_(shape), sequence_(sequence), head_(head) {}

  std::size_t steps() const { return shape_.rows.steps; }
  std::size_t width() const { return shape_.width; }
  std::size_t padded() const { return rounded_up(steps(), pair); }

  Rows input(std::span<const float> x, std::size_t part, std::size_t step = 0) const {
    return {x.data() + shape_.input(shape_.rows.row(step, sequence_), part, head_), input_stride()};
  }
  float* input(std::span<float> x, std::size_t part, std::size_t step) const {
    return x.data() + shape_.input(shape_.rows.row(step, sequence_), part, head_);
  }
  Rows output(std::span<const float> y, std::size_t step = 0) const {
    return {y.data() + shape_.output(shape_.rows.row(step, sequence_), head_), output_stride()};
  }
  float* output(std::span<float> y, std::size_t step) const {
    return y.data() + shape_.output(shape_.rows.row(step, sequence_), head_);
  }
  std::size_t input_stride() const { return 3 * output_stride(); }
  std::size_t output_stride() const { return shape_.rows.sequences * shape_.outputs(); }
  std::size_t sum_place(std::size_t step) const { return shape_.rows.row(step, sequence_) * shape_.heads + head_; }
  float scale() const { return 1 / std::sqrt(static_cast<float>(shape_.width)); }

  /// columns[width][padded] = the transposed rows; zeros after them.
  void pack(Rows from, float* columns) const {
    transpose(steps(), width(), from.first, from.stride, columns, padded());
    for (std::size_t c = 0; c < width(); ++c) std::fill(columns + c * padded() + steps(), columns + (c + 1) * padded(), 0.f);
  }

  /// into[i][padded] = from[i] · columns for `count` rows of which the last sees `seen` columns.
  void dot(std::size_t count, std::size_t seen, Rows from, const float* columns, float* into) const {
    with_count(count, [&]<std::size_t rows>() {
      for (std::size_t j = 0; j < seen; j += pair) dot_tile<rows>(width(), from, columns + j, padded(), into + j);
    });
  }

 private:
  const AttentionShape& shape_;
  std::size_t sequence_, head_;
};

float* scratch(Workspace& workspace, std::size_t count) {
  if (workspace.attention.size() < count) workspace.attention = core::host_arena(count);
  return workspace.attention.span().data();
}

template <class Visit>
void for_heads(const AttentionShape& shape, const Visit& visit) {
  for (std::size_t s = 0; s < shape.rows.sequences; ++s)
    for (std::size_t h = 0; h < shape.heads; ++h) visit(Head(shape, s, h));
}

}  // namespace

void run(Workspace& workspace, const AttentionForward& kernel) {
  const auto& [shape, x, sums, y] = kernel;
  const std::size_t padded = rounded_up(shape.rows.steps, pair);
  float* const keys = scratch(workspace, (shape.width + group) * padded);
  float* const scores = keys + shape.width * padded;
  for_heads(shape, [&, &x = x, &sums = sums, &y = y](const Head& head) {
    head.pack(head.input(x, 1), keys);
    for (std::size_t begin = 0; begin < head.steps(); begin += group) {
      const std::size_t count = std::min(group, head.steps() - begin), end = begin + count;
      head.dot(count, end, head.input(x, 0, begin), keys, scores);
      for (std::size_t i = 0; i < count; ++i) {
        float* const row = scores + i * padded;
        const std::size_t seen = begin + i + 1;
        transform(
            seen, row, [&](Vector v) { return v * head.scale(); }, row);
        const float largest = largest_of(seen, row), sum = exponentiate(seen, largest, row), factor = 1 / sum;
        transform(
            seen, row, [&](Vector v) { return v * factor; }, row);
        std::fill(row + seen, row + end, 0.f);
        sums[head.sum_place(begin + i)] = largest + std::log(sum);
      }
      add_rows(count, end, scores, padded, 1, head.input(x, 2), head.width(), 0, head.output(y, begin),
               head.output_stride());
    }
  });
}

void run(Workspace& workspace, const AttentionBackward& kernel) {
  const auto& [shape, x, sums, y, dy, keep, dx] = kernel;
  const std::size_t padded = rounded_up(shape.rows.steps, pair);
  float* const keys = scratch(workspace, 2 * (shape.width + block) * padded);
  float *const values = keys + shape.width * padded, *const p = values + shape.width * padded, *const d = p + block * padded;
  for_heads(shape, [&, &x = x, &sums = sums, &y = y, &dy = dy, keep = keep, &dx = dx](const Head& head) {
    head.pack(head.input(x, 1), keys);
    head.pack(head.input(x, 2), values);
    for (std::size_t first = 0; first < head.steps(); first += block) {
      const std::size_t rows = std::min(block, head.steps() - first), last = first + rows;
      for (std::size_t begin = first; begin < last; begin += group) {
        const std::size_t count = std::min(group, last - begin), end = begin + count;
        float *const probabilities = p + (begin - first) * padded, *const slopes = d + (begin - first) * padded;
        head.dot(count, end, head.input(x, 0, begin), keys, probabilities);
        head.dot(count, end, head.output(dy, begin), values, slopes);
        for (std::size_t i = 0; i < count; ++i) {
          const std::size_t seen = begin + i + 1;
          const float *out = head.output(y)[begin + i], *dout = head.output(dy)[begin + i];
          float mean = 0;
          for (std::size_t c = 0; c < head.width(); ++c) mean += out[c] * dout[c];
          float *const row = probabilities + i * padded, *const slope = slopes + i * padded;
          const float scale = head.scale(), log_sum = sums[head.sum_place(begin + i)];
          transform(
              seen, row, [&](Vector s) { return exponential(s * scale - log_sum); }, row);
          transform(
              seen, slope, [&](Vector v, Vector of) { return scale * of * (v - mean); }, slope, row);
          std::fill(row + seen, row + last, 0.f);
          std::fill(slope + seen, slope + last, 0.f);
        }
        add_rows(count, end, slopes, padded, 1, head.input(x, 1), head.width(), keep, head.input(dx, 0, begin),
                 head.input_stride());
      }
      for (std::size_t key = 0; key < last; key += group) {  // the rows that see it begin in its own block of queries
        const std::size_t count = std::min(group, last - key);
        const float old = key >= first ? keep : 1;
        add_rows(count, rows, d + key, 1, padded, head.input(x, 0, first), head.width(), old, head.input(dx, 1, key),
                 head.input_stride());
        add_rows(count, rows, p + key, 1, padded, head.output(dy, first), head.width(), old, head.input(dx, 2, key),
                 head.input_stride());
      }
    }
  });
}

}  // namespace paragrad::backend::cpu
