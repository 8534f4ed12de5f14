#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "backend/kernel.hpp"
#include "backend/loss_sum.hpp"

namespace paragrad::backend {

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

/// For the rows of outputs[batch][classes] that have a label: add(label, row, sum) adds a row's loss and error to the sum
/// and replaces the row with its gradient. weights[batch], if there are any: factors of each row's loss and gradient.
/// Clears the other rows.
template <class Real, class Add>
void add_rows(std::size_t classes, std::span<const std::int32_t> labels, std::span<const Real> weights,
              std::span<Real> outputs, LossSum* into, const Add& add) {
  LossSum total;
  for (std::size_t s = 0; s < labels.size(); ++s) {
    Real* const row = outputs.data() + s * classes;
    if (labels[s] == no_label) {
      std::fill_n(row, classes, Real(0));
    } else if (weights.empty()) {
      add(class_of(labels[s], classes), row, total);
    } else {
      LossSum of_row;
      add(class_of(labels[s], classes), row, of_row);
      total += {static_cast<double>(weights[s]) * of_row.loss, of_row.errors};
      for (std::size_t j = 0; j < classes; ++j) row[j] *= weights[s];
    }
  }
  *into += total;
}

/// Σ target·(row - largest) for a target that is smoothed over the classes.
template <class Real>
Real target_output(std::size_t classes, std::size_t label, Real largest, const Real* row, Real smoothing) {
  const Real of_label = row[label] - largest;
  if (smoothing == 0) return of_label;
  Real sum = 0;
  for (std::size_t j = 0; j < classes; ++j) sum += row[j] - largest;
  return (1 - smoothing) * of_label + smoothing / static_cast<Real>(classes) * sum;
}

/// *into += softmax cross-entropy, -Σ target·log p. Overwrites logits[batch][classes] with its gradient p - target.
/// target = (1 - smoothing)·onehot(label) + smoothing/classes: label smoothing (Szegedy et al., CVPR 2016), none if 0.
/// A row with label -1 has no loss, no error and a zero gradient, here and below. Errors are not weighted.
template <class Real>
struct SoftmaxCrossEntropyOf {
  static constexpr KernelId id = KernelId::softmax_cross_entropy;

  std::size_t batch, classes;
  std::span<const std::int32_t> labels;
  std::span<Real> logits;
  LossSum* into;
  Real smoothing = 0;                  ///< in [0, 1)
  std::span<const Real> weights = {};  ///< [batch] or empty: see add_rows

  void check() const {
    expect_size(id, "labels", labels.size(), batch);
    expect_size(id, "logits", logits.size(), batch * classes);
    if (!weights.empty()) expect_size(id, "weights", weights.size(), batch);
  }
  KernelCost cost() const { return streaming_cost(batch * classes, 4, 2); }
  void reference() const {
    add_rows(classes, labels, weights, logits, into, [&](std::size_t label, Real* row, LossSum& total) {
      const bool wrong = is_error(classes, label, row);
      const Real largest = *std::max_element(row, row + classes);
      const Real wanted = target_output(classes, label, largest, row, smoothing);
      Real sum = 0;
      for (std::size_t j = 0; j < classes; ++j) sum += row[j] = std::exp(row[j] - largest);
      total.errors += wrong || std::isnan(sum);
      total.loss += std::log(static_cast<double>(sum)) - static_cast<double>(wanted);
      const Real of_each = smoothing / static_cast<Real>(classes);
      for (std::size_t j = 0; j < classes; ++j) row[j] = row[j] / sum - of_each;
      row[label] -= 1 - smoothing;
    });
  }
  static Example<SoftmaxCrossEntropyOf> example(ExampleMemory& memory, std::size_t count) {
    constexpr std::size_t classes = 10;
    const std::size_t rows = std::max<std::size_t>(1, count / classes);
    return [=, &memory] {
      return SoftmaxCrossEntropyOf{rows, classes, memory.labels(rows), memory.activations(0, rows * classes), memory.loss()};
    };
  }
};
using SoftmaxCrossEntropy = SoftmaxCrossEntropyOf<float>;

/// *into += squared error, ½ Σ (y - target)². Overwrites y[batch][outputs] with its gradient y - target. Without targets,
/// the outputs stand for classes and the target is the one-hot vector of the label; with them, labels only tell which rows
/// have a loss, and there are no errors.
template <class Real>
struct SquaredErrorOf {
  static constexpr KernelId id = KernelId::squared_error;

  std::size_t batch, outputs;
  std::span<const std::int32_t> labels;
  std::span<Real> y;
  LossSum* into;
  std::span<const Real> targets = {};  ///< [batch][outputs] or empty
  std::span<const Real> weights = {};  ///< [batch] or empty: see add_rows

  void check() const {
    expect_size(id, "labels", labels.size(), batch);
    expect_size(id, "y", y.size(), batch * outputs);
    if (!targets.empty()) expect_size(id, "targets", targets.size(), batch * outputs);
    if (!weights.empty()) expect_size(id, "weights", weights.size(), batch);
  }
  KernelCost cost() const { return streaming_cost(batch * outputs, 3, 2); }
  void reference() const {
    add_rows(outputs, labels, weights, y, into, [&](std::size_t label, Real* row, LossSum& total) {
      if (targets.empty()) {
        total.errors += is_error(outputs, label, row);
        row[label] -= Real(1);
      } else {
        const Real* const target = targets.data() + (row - y.data());
        for (std::size_t j = 0; j < outputs; ++j) row[j] -= target[j];
      }
      for (std::size_t j = 0; j < outputs; ++j)
        total.loss += 0.5 * static_cast<double>(row[j]) * static_cast<double>(row[j]);
    });
  }
  static Example<SquaredErrorOf> example(ExampleMemory& memory, std::size_t count) {
    constexpr std::size_t classes = 10;
    const std::size_t rows = std::max<std::size_t>(1, count / classes);
    return [=, &memory] {
      return SquaredErrorOf{rows, classes, memory.labels(rows), memory.activations(0, rows * classes), memory.loss()};
    };
  }
};
using SquaredError = SquaredErrorOf<float>;

}  // namespace paragrad::backend
