#pragma once

#include "backend/activation.hpp"
#include "backend/kernel.hpp"

namespace paragrad::backend {

/// dz ∘= f'(y): for a last layer with an activation function.
template <class Real>
struct ActivationBackwardOf {
  static constexpr KernelId id = KernelId::activation_backward;

  Activation f;
  std::span<const Real> y;
  std::span<Real> dz;

  void check() const { expect_size(id, "y", y.size(), dz.size()); }
  KernelCost cost() const { return streaming_cost(dz.size(), 3, 3); }
  std::size_t elements() const { return dz.size(); }
  PARAGRAD_HOST_DEVICE std::span<Real> written() const { return dz; }
  template <class Loop>
  PARAGRAD_HOST_DEVICE void with_values(const Loop& loop) const {
    loop([&](std::size_t i) { return dz[i] * slope(f, y[i]); });
  }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const { dz[i] *= slope(f, y[i]); }
  static Example<ActivationBackwardOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, count] {
      return ActivationBackwardOf{Activation::sigmoid, memory.activations(0, count), memory.activations(1, count)};
    };
  }
};
using ActivationBackward = ActivationBackwardOf<float>;

}  // namespace paragrad::backend
