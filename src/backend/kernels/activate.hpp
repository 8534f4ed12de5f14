#pragma once

#include "backend/activation.hpp"
#include "backend/kernel.hpp"

namespace paragrad::backend {

/// y = f(z), where f is not fused into the product before it.
template <class Real>
struct ActivateOf {
  static constexpr KernelId id = KernelId::activate;

  Activation f;
  std::span<const Real> z;
  std::span<Real> y;

  void check() const { expect_size(id, "y", y.size(), z.size()); }
  KernelCost cost() const { return streaming_cost(y.size(), 20, 2); }
  std::size_t elements() const { return y.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const { y[i] = backend::activate(f, z[i]); }
  static Example<ActivateOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, count] {
      return ActivateOf{Activation::tanh, memory.activations(0, count), memory.activations(1, count)};
    };
  }
};
using Activate = ActivateOf<float>;

}  // namespace paragrad::backend
