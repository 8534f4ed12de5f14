#pragma once

#include <vector>

#include "optim/separate_momentum.hpp"

namespace paragrad::optim {

/// LARS, layer-wise adaptive rate scaling (You, Gitman and Ginsburg, arXiv 1708.03888, 2017): momentum in which each matrix
/// w of the model has a rate of its own,
///
///   r = trust·|w| / (|g|/n + λ|w|);  v = μv + r (g + nλw);  w -= rate·v
///
/// with the minibatch's mean gradient g/n and the strength λ of L2, so that a matrix moves by trust·learning rate of its
/// norm, whatever the size of its gradient. Where w or g is zero, r = 1. Biases, and whatever else is a single column, take
/// r = 1 always, as is customary: their norms say little. The rate is applied to v at the time of the step, as by the other
/// rules here; the paper has it in v.
class Lars : public SeparateMomentum {
 public:
  /// Throws ConfigError: trust not above 0.
  Lars(const OptimiserOptions& options, backend::Device& device, std::span<const core::Matrix> layout,
       std::size_t parameters);

  bool needs_all() const override { return true; }
  void update(backend::Device& device, core::Range range, Step step, std::span<float> parameters) override;

 private:
  void update_matrix(backend::Device& device, core::Range range, Step step, std::span<float> parameters);

  double trust_;
  std::span<const core::Matrix> layout_;
};

}  // namespace paragrad::optim
