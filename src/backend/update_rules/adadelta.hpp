#pragma once

#include <cmath>

#include "backend/update_rule.hpp"

namespace paragrad::backend {

/// Adadelta (Zeiler, arXiv 1212.5701, 2012), on the minibatch's mean gradient g/n, with n its samples:
///
///   d = g/n + λw;  v = β2 v + (1-β2) d²;  u = d √(s + ε)/√(v + ε);  s = β2 s + (1-β2) u²;  w -= α u
///
/// The paper has no α: a learning rate of 1.
struct Adadelta {
  static constexpr KernelId id = KernelId::adadelta_update;
  static constexpr RuleNumbers defaults{.beta2 = 0.95, .epsilon = 1e-6};
  static constexpr std::array state{"mean_square", "mean_square_step"};
  static constexpr std::uint64_t flops = 19;

  template <class Real>
  PARAGRAD_HOST_DEVICE static void update(const RuleStep& step, Real g, Real& w, Real& gradients, Real& steps) {
    const Real kept = static_cast<Real>(step.numbers.beta2), gain = static_cast<Real>(1 - step.numbers.beta2);
    const Real epsilon = static_cast<Real>(step.numbers.epsilon);
    const Real d = static_cast<Real>(step.scale) * g + static_cast<Real>(step.decay) * w;
    gradients = kept * gradients + gain * (d * d);
    const Real u = d * std::sqrt(steps + epsilon) / std::sqrt(gradients + epsilon);
    steps = kept * steps + gain * (u * u);
    w -= static_cast<Real>(step.alpha) * u;
  }
};

}  // namespace paragrad::backend
