#pragma once

#include <span>

#include "optim/wrapped_rule.hpp"

namespace paragrad::optim {

/// L2 on weights alone, around a rule that works element by element: biases, the scales and shifts of normalisation and all
/// other single columns are updated without decay (He et al., arXiv 1812.01187, section 3.1). LARS does so itself.
class DecayOfWeights : public WrappedRule {
 public:
  using WrappedRule::WrappedRule;

  void update(backend::KernelQueue& queue, core::Range range, Step step, std::span<float> parameters) override;
};

}  // namespace paragrad::optim
