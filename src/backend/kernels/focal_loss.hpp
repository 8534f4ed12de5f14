#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "backend/kernel.hpp"
#include "backend/kernels/losses.hpp"
#include "backend/loss_sum.hpp"

namespace paragrad::backend {

/// d(loss)/d(log p) of the focal loss -(1-p)^gamma·log p, where q = 1 - p: the gradient of the outputs is this times
/// (onehot - softmax). Finite everywhere: p·log p is 0 at 0. q is given instead of p because it stays exact where p is close
/// to 1.
template <class Real>
PARAGRAD_HOST_DEVICE Real focal_slope(Real gamma, Real q) {
  if (gamma == 0 || q == 1) return -1;
  if (q == 0) return 0;
  return std::pow(q, gamma) * (gamma * (1 - q) * (std::log1p(-q) / q) - 1);
}

/// *into += focal loss (Lin, Goyal, Girshick, He and Dollár, ICCV 2017), -Σ (1-p)^gamma·log p of the label's probability p
/// in the softmax of the row. Overwrites logits[batch][classes] with its gradient. gamma = 0: the cross-entropy. Rows with
/// label -1 as in SoftmaxCrossEntropyOf.
template <class Real>
struct FocalLossOf {
  static constexpr KernelId id = KernelId::focal_loss;

  std::size_t batch, classes;
  std::span<const std::int32_t> labels;
  std::span<Real> logits;
  LossSum* into;
  Real gamma;                          ///< at least 0
  std::span<const Real> weights = {};  ///< [batch] or empty: see add_rows

  void check() const {
    expect_size(id, "labels", labels.size(), batch);
    expect_size(id, "logits", logits.size(), batch * classes);
    if (!weights.empty()) expect_size(id, "weights", weights.size(), batch);
  }
  KernelCost cost() const { return streaming_cost(batch * classes, 5, 2); }
  void reference() const {
    add_rows(classes, labels, weights, logits, into, [&](std::size_t label, Real* row, LossSum& total) {
      const bool wrong = is_error(classes, label, row);
      const Real largest = *std::max_element(row, row + classes), of_label = row[label] - largest;
      Real sum = 0, others = 0;
      for (std::size_t j = 0; j < classes; ++j) {
        sum += row[j] = std::exp(row[j] - largest);
        if (j != label) others += row[j];
      }
      const Real q = others / sum, slope = focal_slope(gamma, q);
      total.errors += wrong || std::isnan(sum);
      total.loss +=
          static_cast<double>(std::pow(q, gamma)) * (std::log(static_cast<double>(sum)) - static_cast<double>(of_label));
      for (std::size_t j = 0; j < classes; ++j) row[j] *= -slope / sum;
      row[label] = slope * q;
    });
  }
  static Example<FocalLossOf> example(ExampleMemory& memory, std::size_t count) {
    constexpr std::size_t classes = 10;
    const std::size_t rows = std::max<std::size_t>(1, count / classes);
    return [=, &memory] {
      return FocalLossOf{rows, classes, memory.labels(rows), memory.activations(0, rows * classes), memory.loss(), 2};
    };
  }
};
using FocalLoss = FocalLossOf<float>;

}  // namespace paragrad::backend
