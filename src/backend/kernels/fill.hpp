#pragma once

#include "backend/kernel.hpp"

namespace paragrad::backend {

/// x = value
template <class Real>
struct FillOf {
  static constexpr KernelId id = KernelId::fill;

  Real value;
  std::span<Real> x;

  void check() const {}
  KernelCost cost() const { return streaming_cost(x.size(), 0, 1); }
  std::size_t elements() const { return x.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const { x[i] = value; }
  static Example<FillOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, count] { return FillOf{Real(1e-3), memory.parameters(count)}; };
  }
};
using Fill = FillOf<float>;

}  // namespace paragrad::backend
