#pragma once

#include "backend/kernel.hpp"

namespace paragrad::backend {

/// to = from
template <class Real>
struct CopyOf {
  static constexpr KernelId id = KernelId::copy;

  std::span<const Real> from;
  std::span<Real> to;

  void check() const { expect_size(id, "from", from.size(), to.size()); }
  KernelCost cost() const { return streaming_cost(to.size(), 0, 2); }
  std::size_t elements() const { return to.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const { to[i] = from[i]; }
  static Example<CopyOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, count] { return CopyOf{memory.parameters(count), memory.parameters(count)}; };
  }
};
using Copy = CopyOf<float>;

}  // namespace paragrad::backend
