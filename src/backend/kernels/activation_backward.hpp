#pragma once

#include "backend/activation.hpp"
#include "backend/kernel.hpp"
#include "backend/lanes.hpp"

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
  bool come_in_fours() const { return backend::come_in_fours(dz.size(), {y.data(), dz.data()}); }
  template <std::size_t lanes = 1>
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    auto gradient = Lanes<Real, lanes>::load(dz.data() + i);
    const auto output = Lanes<Real, lanes>::load(y.data() + i);
    for (std::size_t lane = 0; lane < lanes; ++lane) gradient.of[lane] *= slope(f, output.of[lane]);
    gradient.store(dz.data() + i);
  }
  static Example<ActivationBackwardOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, count] {
      return ActivationBackwardOf{Activation::sigmoid, memory.activations(0, count), memory.activations(1, count)};
    };
  }
};
using ActivationBackward = ActivationBackwardOf<float>;

}  // namespace paragrad::backend
