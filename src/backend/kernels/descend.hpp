#pragma once

#include "backend/kernel.hpp"

namespace paragrad::backend {

/// d += decay·w; w -= rate·d. Plain SGD if d is the gradient; momentum if the backward pass has accumulated the gradient
/// into d with keep = momentum. decay = 0 leaves d unchanged.
template <class Real>
struct DescendOf {
  static constexpr KernelId id = KernelId::descend;

  Real rate, decay;
  std::span<Real> d, w;

  void check() const { expect_size(id, "d", d.size(), w.size()); }
  /// d and w are read and one of them written, with decay both.
  KernelCost cost() const { return decay == 0 ? streaming_cost(w.size(), 2, 3) : streaming_cost(w.size(), 4, 4); }
  std::size_t elements() const { return w.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    if (decay != 0) d[i] += decay * w[i];
    w[i] -= rate * d[i];
  }
  static Example<DescendOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, count] { return DescendOf{Real(1e-6), 0, memory.parameters(count), memory.parameters(count)}; };
  }
};
using Descend = DescendOf<float>;

}  // namespace paragrad::backend
