#pragma once

#include "backend/kernel.hpp"

namespace paragrad::backend {

/// x *= factor
template <class Real>
struct ScaleOf {
  static constexpr KernelId id = KernelId::scale;

  Real factor;
  std::span<Real> x;

  void check() const {}
  KernelCost cost() const { return streaming_cost(x.size(), 1, 2); }
  std::size_t elements() const { return x.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const { x[i] *= factor; }
  static Example<ScaleOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, count] { return ScaleOf{1, memory.parameters(count)}; };
  }
};
using Scale = ScaleOf<float>;

}  // namespace paragrad::backend
