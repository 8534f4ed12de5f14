#pragma once

#include <cmath>

#include "backend/update_rule.hpp"

namespace paragrad::backend {

/// AdaGrad (Duchi, Hazan and Singer, JMLR 12, 2011), as a parameter server applies it in DistBelief (Dean et al., NIPS
/// 2012), on the minibatch's mean gradient g/n, with n its samples:
///
///   d = g/n + λw;  s = s + d²;  w -= α d / (√s + ε)
struct AdaGrad {
  static constexpr KernelId id = KernelId::adagrad_update;
  static constexpr RuleNumbers defaults{.epsilon = 1e-8};
  static constexpr std::array state{"sum_of_squares"};
  static constexpr std::uint64_t flops = 10;

  template <class Real>
  PARAGRAD_HOST_DEVICE static void update(const RuleStep& step, Real g, Real& w, Real& squares, Real&) {
    const Real d = static_cast<Real>(step.scale) * g + static_cast<Real>(step.decay) * w;
    squares += d * d;
    w -= static_cast<Real>(step.alpha) * d / (std::sqrt(squares) + static_cast<Real>(step.numbers.epsilon));
  }
};

}  // namespace paragrad::backend
