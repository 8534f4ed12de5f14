#pragma once

#include <cmath>

#include "backend/update_rule.hpp"

namespace paragrad::backend {

/// RMSProp (Tieleman and Hinton, lecture 6.5 of "Neural networks for machine learning", 2012), on the minibatch's mean
/// gradient g/n, with n its samples:
///
///   d = g/n + λw;  v = β2 v + (1-β2) d²;  w -= α d / (√v + ε)
struct RmsProp {
  static constexpr KernelId id = KernelId::rmsprop_update;
  static constexpr RuleNumbers defaults{.beta2 = 0.9, .epsilon = 1e-8};
  static constexpr std::array state{"mean_square"};
  static constexpr std::uint64_t flops = 12;

  template <class Real>
  PARAGRAD_HOST_DEVICE static void update(const RuleStep& step, Real g, Real& w, Real& mean_square, Real&) {
    const Real d = static_cast<Real>(step.scale) * g + static_cast<Real>(step.decay) * w;
    mean_square = static_cast<Real>(step.numbers.beta2) * mean_square + static_cast<Real>(1 - step.numbers.beta2) * (d * d);
    w -= static_cast<Real>(step.alpha) * d / (std::sqrt(mean_square) + static_cast<Real>(step.numbers.epsilon));
  }
};

}  // namespace paragrad::backend
