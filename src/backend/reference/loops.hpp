#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "backend/formulas.hpp"
#include "backend/kernels.hpp"
#include "core/host_device.hpp"

/// The kernels of backend/kernels.hpp as plain loops over any real type: float is the oracle for the other devices, double
/// lets tests check gradients against finite differences.
namespace paragrad::backend::reference {

using formulas::accumulate;
using formulas::activate;
using formulas::slope;

template <class Real>
void gemm(Transpose transpose_a, Transpose transpose_b, std::size_t m, std::size_t n, std::size_t k, const Real* a,
          const Real* b, Real keep, Real* c) {
  const auto at = [](const Real* matrix, Transpose t, std::size_t rows, std::size_t columns, std::size_t i, std::size_t j) {
    return t == Transpose::no ? matrix[i * columns + j] : matrix[j * rows + i];
  };
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      Real sum = 0;
      for (std::size_t l = 0; l < k; ++l) sum += at(a, transpose_a, m, k, i, l) * at(b, transpose_b, k, n, l, j);
      c[i * n + j] = accumulate(sum, keep, c[i * n + j]);
    }
  }
}

template <class Real>
void affine_forward(std::size_t batch, std::size_t in, std::size_t out, const Real* x, const Real* w, const Real* bias,
                    Activation f, Real* y) {
  gemm(Transpose::no, Transpose::no, batch, out, in, x, w, Real(0), y);
  for (std::size_t s = 0; s < batch; ++s)
    for (std::size_t j = 0; j < out; ++j) y[s * out + j] = activate(f, y[s * out + j] + bias[j]);
}

template <class Real>
void affine_reverse(std::size_t batch, std::size_t in, std::size_t out, const Real* y, const Real* w, const Real* bias,
                    Activation f, Real* x) {
  gemm(Transpose::no, Transpose::yes, batch, in, out, y, w, Real(0), x);
  for (std::size_t s = 0; s < batch; ++s)
    for (std::size_t i = 0; i < in; ++i) x[s * in + i] = activate(f, x[s * in + i] + bias[i]);
}

template <class Real>
void activation_backward(Activation f, std::size_t count, const Real* y, Real* dz) {
  for (std::size_t i = 0; i < count; ++i) dz[i] *= slope(f, y[i]);
}

template <class Real>
void affine_backward_input(std::size_t batch, std::size_t in, std::size_t out, const Real* dz, const Real* w, const Real* x,
                           Activation f, Real* dx) {
  gemm(Transpose::no, Transpose::yes, batch, in, out, dz, w, Real(0), dx);
  activation_backward(f, batch * in, x, dx);
}

template <class Real>
void affine_backward_weights(std::size_t batch, std::size_t in, std::size_t out, std::size_t first_row, std::size_t rows,
                             const Real* x, const Real* dz, Real keep, Real* dw) {
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < out; ++j) {
      Real sum = 0;
      for (std::size_t s = 0; s < batch; ++s) sum += x[s * in + first_row + i] * dz[s * out + j];
      dw[i * out + j] = accumulate(sum, keep, dw[i * out + j]);
    }
  }
}

template <class Real>
void bias_gradient(std::size_t batch, std::size_t out, const Real* dz, Real keep, Real* dbias) {
  for (std::size_t j = 0; j < out; ++j) {
    Real sum = 0;
    for (std::size_t s = 0; s < batch; ++s) sum += dz[s * out + j];
    dbias[j] = accumulate(sum, keep, dbias[j]);
  }
}

/// A row without loss: its gradient is zero.
inline constexpr std::int32_t no_label = -1;

/// The label as an index; a label outside [0, classes) is a contract violation.
inline std::size_t class_of(std::int32_t label, std::size_t classes) {
  if (label < 0 || static_cast<std::size_t>(label) >= classes) throw std::out_of_range("a label names no class");
  return static_cast<std::size_t>(label);
}

/// Whether the first largest output is not the label; a row with NaN is always an error.
template <class Real>
bool is_error(std::size_t classes, std::size_t label, const Real* row) {
  const bool broken = std::any_of(row, row + classes, [](Real z) { return std::isnan(z); });
  return broken || static_cast<std::size_t>(std::max_element(row, row + classes) - row) != label;
}

template <class Real>
void copy_columns(std::size_t rows, std::size_t columns, std::size_t from_width, const Real* from, std::size_t to_width,
                  Real* to) {
  for (std::size_t r = 0; r < rows; ++r) std::copy_n(from + r * from_width, columns, to + r * to_width);
}

template <class Real>
LossSum softmax_cross_entropy(std::size_t batch, std::size_t classes, const std::int32_t* labels, Real* logits) {
  LossSum total;
  for (std::size_t s = 0; s < batch; ++s) {
    Real* row = logits + s * classes;
    if (labels[s] == no_label) {
      std::fill_n(row, classes, Real(0));
      continue;
    }
    const std::size_t label = class_of(labels[s], classes);
    const bool wrong = is_error(classes, label, row);

    const Real largest = *std::max_element(row, row + classes);
    const Real of_label = row[label] - largest;
    Real sum = 0;
    for (std::size_t j = 0; j < classes; ++j) sum += row[j] = std::exp(row[j] - largest);
    total.errors += wrong || std::isnan(sum);
    total.loss += std::log(static_cast<double>(sum)) - static_cast<double>(of_label);
    for (std::size_t j = 0; j < classes; ++j) row[j] /= sum;
    row[label] -= Real(1);
  }
  return total;
}

template <class Real>
LossSum squared_error(std::size_t batch, std::size_t classes, const std::int32_t* labels, Real* y) {
  LossSum total;
  for (std::size_t s = 0; s < batch; ++s) {
    Real* row = y + s * classes;
    if (labels[s] == no_label) {
      std::fill_n(row, classes, Real(0));
      continue;
    }
    const std::size_t label = class_of(labels[s], classes);
    total.errors += is_error(classes, label, row);
    row[label] -= Real(1);
    for (std::size_t j = 0; j < classes; ++j) total.loss += 0.5 * static_cast<double>(row[j]) * static_cast<double>(row[j]);
  }
  return total;
}

template <class Real>
void clamp(Real limit, std::size_t count, Real* x) {
  for (std::size_t i = 0; i < count; ++i) x[i] = formulas::clamp(limit, x[i]);
}

template <class Real>
void limit_row_norms(std::size_t rows, std::size_t columns, Real limit, Real* w) {
  std::vector<double> squares(rows, 0.0);
  for (std::size_t c = 0; c < columns; ++c)
    for (std::size_t r = 0; r < rows; ++r)
      squares[r] += static_cast<double>(w[c * rows + r]) * static_cast<double>(w[c * rows + r]);
  std::vector<Real> factors(rows);
  for (std::size_t r = 0; r < rows; ++r) factors[r] = formulas::norm_factor(squares[r], limit);
  for (std::size_t c = 0; c < columns; ++c)
    for (std::size_t r = 0; r < rows; ++r) w[c * rows + r] *= factors[r];
}

template <class Real>
void descend(Real rate, Real decay, std::size_t count, Real* d, Real* w) {
  for (std::size_t i = 0; i < count; ++i) formulas::descend(rate, decay, d[i], w[i]);
}

template <class Real>
void momentum_update(Real rate, Real momentum, bool nesterov, Real decay, std::size_t count, const Real* g, Real* v,
                     Real* w) {
  for (std::size_t i = 0; i < count; ++i) formulas::momentum_update(rate, momentum, nesterov, decay, g[i], v[i], w[i]);
}

template <class Real>
void adam_update(const AdamStep& step, std::size_t count, const Real* g, Real* m, Real* v, Real* w) {
  const formulas::Adam<Real> adam(step);
  for (std::size_t i = 0; i < count; ++i) adam.update(g[i], m[i], v[i], w[i]);
}

template <class Real>
void block_filter(Real momentum, Real rate, Real ahead_before, Real ahead, std::size_t count, Real* average, Real* w,
                  Real* delta) {
  for (std::size_t i = 0; i < count; ++i)
    formulas::block_filter(momentum, rate, ahead_before, ahead, average[i], w[i], delta[i]);
}

template <class Real>
void look_ahead(Real ahead, std::size_t count, const Real* w, const Real* delta, Real* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = w[i] + ahead * delta[i];
}

template <class Real>
void moment_filter(double past, double keep, bool of_squares, std::size_t count, Real* moment, Real* base) {
  const formulas::MomentFilter<Real> filter(past, keep, of_squares);
  for (std::size_t i = 0; i < count; ++i) filter.filter(moment[i], base[i]);
}

/// In double, like all long sums.
template <class Real>
double dot(std::size_t count, const Real* a, const Real* b) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

template <class Real>
double squared_distance(std::size_t count, const Real* a, const Real* b) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += difference * difference;
  }
  return sum;
}

template <class Real>
double softplus_sum(std::size_t count, const Real* x) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += formulas::softplus(static_cast<double>(x[i]));
  return sum;
}

/// The divisor that normalises a column of length `before`, which has length `after` once orthogonalised. Infinite if too
/// little remains; NaN stays NaN.
PARAGRAD_HOST_DEVICE inline double length_to_divide_by(double before, double after) {
  const double least = std::max(1e-5 * before, static_cast<double>(std::numeric_limits<float>::min()));
  return after <= least ? std::numeric_limits<double>::infinity() : after;
}

/// For columns that start `distance` elements apart. product(a, b), subtract(factor, from, to) and scale(factor, to) work on
/// a whole column, given its first element.
template <class Real, class Product, class Subtract, class Scale>
PARAGRAD_HOST_DEVICE void orthonormalise_columns(std::size_t distance, std::size_t rank, Real* columns,
                                                 const Product& product, const Subtract& subtract, const Scale& scale) {
  for (std::size_t j = 0; j < rank; ++j) {
    Real* column = columns + j * distance;
    const double before = std::sqrt(product(column, column));
    for (int time = 0; time < 2; ++time)
      for (std::size_t i = 0; i < j; ++i)
        subtract(static_cast<Real>(product(columns + i * distance, column)), columns + i * distance, column);
    scale(static_cast<Real>(1 / length_to_divide_by(before, std::sqrt(product(column, column)))), column);
  }
}

template <class Real>
void orthonormalise(std::size_t rows, std::size_t rank, Real* matrix) {
  std::vector<Real> columns(rows * rank);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t j = 0; j < rank; ++j) columns[j * rows + r] = matrix[r * rank + j];
  orthonormalise_columns(
      rows, rank, columns.data(), [&](const Real* a, const Real* b) { return dot(rows, a, b); },
      [&](Real factor, const Real* from, Real* to) {
        for (std::size_t r = 0; r < rows; ++r) to[r] -= factor * from[r];
      },
      [&](Real factor, Real* to) {
        for (std::size_t r = 0; r < rows; ++r) to[r] *= factor;
      });
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t j = 0; j < rank; ++j) matrix[r * rank + j] = columns[j * rows + r];
}

}  // namespace paragrad::backend::reference
