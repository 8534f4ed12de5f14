#pragma once

#include "backend/activation.hpp"
#include "backend/kernel.hpp"

namespace paragrad::backend {

/// dz = keep·dz + dy∘f', where `at` is what the slope is computed from (slope_of): z or y.
template <class Real>
struct ActivationGradientOf {
  static constexpr KernelId id = KernelId::activation_gradient;

  Activation f;
  std::span<const Real> at, dy;
  Real keep;
  std::span<Real> dz;

  void check() const {
    expect_size(id, "at", at.size(), dz.size());
    expect_size(id, "dy", dy.size(), dz.size());
  }
  KernelCost cost() const { return streaming_cost(dz.size(), 20, keep == 0 ? 3 : 4); }
  std::size_t elements() const { return dz.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const { dz[i] = accumulate(dy[i] * slope(f, at[i]), keep, dz[i]); }
  static Example<ActivationGradientOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, count] {
      return ActivationGradientOf{Activation::tanh, memory.activations(0, count), memory.activations(1, count), 0,
                                  memory.activations(2, count)};
    };
  }
};
using ActivationGradient = ActivationGradientOf<float>;

}  // namespace paragrad::backend
