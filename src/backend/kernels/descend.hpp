#pragma once

#include "backend/kernel.hpp"
#include "backend/lanes.hpp"

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
  bool come_in_fours() const { return backend::come_in_fours(w.size(), {d.data(), w.data()}); }
  template <std::size_t lanes = 1>
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    auto direction = Lanes<Real, lanes>::load(d.data() + i), weight = Lanes<Real, lanes>::load(w.data() + i);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      if (decay != 0) direction.of[lane] += decay * weight.of[lane];
      weight.of[lane] -= rate * direction.of[lane];
    }
    if (decay != 0) direction.store(d.data() + i);
    weight.store(w.data() + i);
  }
  static Example<DescendOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, count] { return DescendOf{Real(1e-6), 0, memory.parameters(count), memory.parameters(count)}; };
  }
};
using Descend = DescendOf<float>;

}  // namespace paragrad::backend
