#pragma once

#include "backend/kernel.hpp"

namespace paragrad::backend {

/// g += decay·w; v = momentum·v + g; w -= rate·(nesterov ? g + momentum·v : v). g in memory is not modified.
template <class Real>
struct MomentumUpdateOf {
  static constexpr KernelId id = KernelId::momentum_update;

  Real rate, momentum;
  bool nesterov;
  Real decay;
  std::span<const Real> g;
  std::span<Real> v, w;

  void check() const {
    expect_size(id, "g", g.size(), w.size());
    expect_size(id, "v", v.size(), w.size());
  }
  KernelCost cost() const { return streaming_cost(w.size(), 4 + (nesterov ? 2 : 0) + (decay != 0 ? 2 : 0), 5); }
  std::size_t elements() const { return w.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    const Real gradient = decay == 0 ? g[i] : g[i] + decay * w[i];
    v[i] = momentum * v[i] + gradient;
    w[i] -= rate * (nesterov ? gradient + momentum * v[i] : v[i]);
  }
  static Example<MomentumUpdateOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, count] {
      return MomentumUpdateOf{
          Real(1e-6), Real(0.9), false, 0, memory.parameters(count), memory.parameters(count), memory.parameters(count)};
    };
  }
};
using MomentumUpdate = MomentumUpdateOf<float>;

}  // namespace paragrad::backend
