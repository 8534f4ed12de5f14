#pragma once

#include "backend/kernel.hpp"

namespace paragrad::backend {

/// y = keep·y + a∘b
template <class Real>
struct MultiplyOf {
  static constexpr KernelId id = KernelId::multiply;

  std::span<const Real> a, b;
  Real keep;
  std::span<Real> y;

  void check() const {
    expect_size(id, "a", a.size(), y.size());
    expect_size(id, "b", b.size(), y.size());
  }
  KernelCost cost() const { return streaming_cost(y.size(), keep == 0 ? 1 : 2, keep == 0 ? 3 : 4); }
  std::size_t elements() const { return y.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const { y[i] = accumulate(a[i] * b[i], keep, y[i]); }
  static Example<MultiplyOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, count] {
      return MultiplyOf{memory.activations(0, count), memory.activations(1, count), 0, memory.activations(2, count)};
    };
  }
};
using Multiply = MultiplyOf<float>;

}  // namespace paragrad::backend
