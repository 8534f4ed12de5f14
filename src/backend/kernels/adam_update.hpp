#pragma once

#include <cmath>

#include "backend/kernel.hpp"

namespace paragrad::backend {

/// The constants of step t of Adam (Kingma and Ba, ICLR 2015).
struct AdamStep {
  double rate = 0;    ///< α/(1 - β1^t)
  double beta1 = 0;   ///< decay of the mean gradient
  double beta2 = 0;   ///< decay of the mean square
  double unbias = 1;  ///< 1/(1 - β2^t)
  double epsilon = 0;
  double gradient_scale = 1;  ///< factor that turns the summed gradient into a mean
  double decay = 0;           ///< decay·w is added to that mean
  double shrink = 0;          ///< shrink·w is subtracted from w, bypassing the moments (AdamW)
};

/// d = gradient_scale·g + decay·w;  m = β1·m + (1-β1)·d;  v = β2·v + (1-β2)·d²;
/// w -= shrink·w + rate·m/(√(unbias·v) + ε). g in memory is not modified.
template <class Real>
struct AdamUpdateOf {
  static constexpr KernelId id = KernelId::adam_update;

  AdamStep step;
  std::span<const Real> g;
  std::span<Real> m, v, w;

  void check() const {
    expect_size(id, "g", g.size(), w.size());
    expect_size(id, "m", m.size(), w.size());
    expect_size(id, "v", v.size(), w.size());
  }
  KernelCost cost() const { return streaming_cost(w.size(), 17, 7); }
  std::size_t elements() const { return w.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    const Real beta1 = static_cast<Real>(step.beta1), gain1 = static_cast<Real>(1 - step.beta1);
    const Real beta2 = static_cast<Real>(step.beta2), gain2 = static_cast<Real>(1 - step.beta2);
    const Real d = static_cast<Real>(step.gradient_scale) * g[i] + static_cast<Real>(step.decay) * w[i];
    m[i] = beta1 * m[i] + gain1 * d;
    v[i] = beta2 * v[i] + gain2 * (d * d);
    w[i] -= static_cast<Real>(step.shrink) * w[i] +
            static_cast<Real>(step.rate) * m[i] /
                (std::sqrt(static_cast<Real>(step.unbias) * v[i]) + static_cast<Real>(step.epsilon));
  }
  static Example<AdamUpdateOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, count] {
      return AdamUpdateOf{{.rate = 1e-6f, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
                          memory.parameters(count),
                          memory.parameters(count),
                          memory.parameters(count),
                          memory.parameters(count)};
    };
  }
};
using AdamUpdate = AdamUpdateOf<float>;

}  // namespace paragrad::backend
