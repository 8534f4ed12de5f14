#pragma once

#include "backend/kernel.hpp"

namespace paragrad::backend {

/// x += share·(target - x)
template <class Real>
struct MoveTowardsOf {
  static constexpr KernelId id = KernelId::move_towards;

  Real share;
  std::span<const Real> target;
  std::span<Real> x;

  void check() const { expect_size(id, "target", target.size(), x.size()); }
  KernelCost cost() const { return streaming_cost(x.size(), 3, 3); }
  std::size_t elements() const { return x.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const { x[i] += share * (target[i] - x[i]); }
  static Example<MoveTowardsOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, count] { return MoveTowardsOf{Real(0.01), memory.parameters(count), memory.parameters(count)}; };
  }
};
using MoveTowards = MoveTowardsOf<float>;

}  // namespace paragrad::backend
