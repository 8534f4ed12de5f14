#pragma once

#include "backend/update_rule.hpp"

namespace paragrad::backend {

/// Lion (Chen et al., "Symbolic discovery of optimization algorithms", NeurIPS 2023), on the minibatch's mean gradient
/// d = g/n, with n its samples, and with decoupled weight decay:
///
///   c = β1 m + (1-β1) d;  w -= α (sign(c) + λw);  m = β2 m + (1-β2) d
struct Lion {
  static constexpr KernelId id = KernelId::lion_update;
  static constexpr RuleNumbers defaults{.beta1 = 0.9, .beta2 = 0.99};
  static constexpr std::array state{"mean"};
  static constexpr std::uint64_t flops = 12;

  template <class Real>
  PARAGRAD_HOST_DEVICE static void update(const RuleStep& step, Real g, Real& w, Real& mean, Real&) {
    const auto [beta1, beta2, epsilon] = step.numbers;
    const Real d = static_cast<Real>(step.scale) * g;
    const Real c = static_cast<Real>(beta1) * mean + static_cast<Real>(1 - beta1) * d;
    const Real sign = c > 0 ? Real(1) : c < 0 ? Real(-1) : c;  // NaN stays NaN
    w -= static_cast<Real>(step.alpha) * (sign + static_cast<Real>(step.decay) * w);
    mean = static_cast<Real>(beta2) * mean + static_cast<Real>(1 - beta2) * d;
  }
};

}  // namespace paragrad::backend
