#pragma once

#include <vector>

#include "optim/separate_momentum.hpp"

namespace paragrad::optim {

/// LARS, layer-wise adaptive rate scaling (You, Gitman and Ginsburg, arXiv 1708.03888, 2017): momentum with a separate rate
/// for each matrix w of the model,
///
///   r = trust·|w| / (|g|/n + λ|w|);  v = μv + r (g + nλw);  w -= rate·v
///
/// with the minibatch's mean gradient g/n and the L2 strength λ, so that each step changes a matrix by trust·learning rate
/// of its norm, whatever the size of its gradient. If w or g is zero, r = 1. Biases and all other single columns always use
/// r = 1, as is customary: their norms are not informative. The rate is applied to v at the time of the step, as in the
/// other rules here; the paper includes it in v.
class Lars : public SeparateMomentum {
 public:
  /// Throws ConfigError if trust is not above 0.
  Lars(const OptimiserOptions& options, backend::Device& device, std::span<const core::Matrix> layout,
       std::size_t parameters);

  bool needs_all() const override { return true; }
  void update(backend::KernelQueue& queue, core::Range range, Step step, std::span<float> parameters) override;

 private:
  void update_matrix(backend::KernelQueue& queue, core::Range range, Step step, std::span<float> parameters);

  double trust_;
  std::span<const core::Matrix> layout_;
};

}  // namespace paragrad::optim
