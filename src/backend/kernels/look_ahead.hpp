#pragma once

#include "backend/kernel.hpp"

namespace paragrad::backend {

/// to = w + ahead·delta, with the same bits as the result of BlockFilter.
template <class Real>
struct LookAheadOf {
  static constexpr KernelId id = KernelId::look_ahead;

  Real ahead;
  std::span<const Real> w, delta;
  std::span<Real> to;

  void check() const {
    expect_size(id, "w", w.size(), to.size());
    expect_size(id, "delta", delta.size(), to.size());
  }
  KernelCost cost() const { return streaming_cost(to.size(), 2, 3); }
  std::size_t elements() const { return to.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const { to[i] = w[i] + ahead * delta[i]; }
  static Example<LookAheadOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, count] {
      return LookAheadOf{Real(0.9), memory.parameters(count), memory.parameters(count), memory.parameters(count)};
    };
  }
};
using LookAhead = LookAheadOf<float>;

}  // namespace paragrad::backend
