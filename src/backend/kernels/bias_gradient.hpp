#pragma once

#include <algorithm>

#include "backend/kernel.hpp"

namespace paragrad::backend {

/// dbias[out] = keep·dbias + Σ over the batch of dz[batch][out]
template <class Real>
struct BiasGradientOf {
  static constexpr KernelId id = KernelId::bias_gradient;

  std::size_t batch, out;
  std::span<const Real> dz;
  Real keep;
  std::span<Real> dbias;

  void check() const {
    expect_size(id, "dz", dz.size(), batch * out);
    expect_size(id, "dbias", dbias.size(), out);
  }
  KernelCost cost() const { return streaming_cost(batch * out, 1, 1); }
  void reference() const {
    for (std::size_t j = 0; j < out; ++j) {
      Real sum = 0;
      for (std::size_t s = 0; s < batch; ++s) sum += dz[s * out + j];
      dbias[j] = accumulate(sum, keep, dbias[j]);
    }
  }
  static Example<BiasGradientOf> example(ExampleMemory& memory, std::size_t count) {
    const std::size_t out = std::min<std::size_t>(count, 512), batch = count / out;
    return [=, &memory] {
      return BiasGradientOf{batch, out, memory.activations(1, batch * out), Real(0.9), memory.activations(0, out)};
    };
  }
};
using BiasGradient = BiasGradientOf<float>;

}  // namespace paragrad::backend
