#pragma once

#include "backend/kernel.hpp"

namespace paragrad::backend {

/// Clamps every element to ±limit; NaN stays NaN.
template <class Real>
struct ClampOf {
  static constexpr KernelId id = KernelId::clamp;

  Real limit;
  std::span<Real> x;

  void check() const {}
  KernelCost cost() const { return streaming_cost(x.size(), 2, 2); }
  std::size_t elements() const { return x.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const { x[i] = x[i] > limit ? limit : x[i] < -limit ? -limit : x[i]; }
  static Example<ClampOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, count] { return ClampOf{Real(1e-3), memory.parameters(count)}; };
  }
};
using Clamp = ClampOf<float>;

}  // namespace paragrad::backend
