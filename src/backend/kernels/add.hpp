#pragma once

#include "backend/kernel.hpp"

namespace paragrad::backend {

/// to += from
template <class Real>
struct AddOf {
  static constexpr KernelId id = KernelId::add;

  std::span<const Real> from;
  std::span<Real> to;

  void check() const { expect_size(id, "from", from.size(), to.size()); }
  KernelCost cost() const { return streaming_cost(to.size(), 1, 3); }
  std::size_t elements() const { return to.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const { to[i] += from[i]; }
  static Example<AddOf> example(ExampleMemory& memory, std::size_t count) {  // what a reduction adds has just arrived
    return [&memory, count] { return AddOf{memory.activations(0, count), memory.parameters(count)}; };
  }
};
using Add = AddOf<float>;

}  // namespace paragrad::backend
