#pragma once

#include "backend/kernel.hpp"

namespace paragrad::backend {

/// Blockwise model-update filtering (Chen and Huo, ICASSP 2016), in place on one range of the model:
///   delta = momentum·delta + rate·(average - base);  w += delta;  average = w + ahead·delta
/// where base = w + ahead_before·delta_before is the workers' starting point. `average` holds the mean of the local models
/// on entry and the next starting point on return. ahead = 0 for classical, = momentum for Nesterov block momentum.
template <class Real>
struct BlockFilterOf {
  static constexpr KernelId id = KernelId::block_filter;

  Real momentum, rate, ahead_before, ahead;
  std::span<Real> average, w, delta;

  void check() const {
    expect_size(id, "average", average.size(), w.size());
    expect_size(id, "delta", delta.size(), w.size());
  }
  KernelCost cost() const { return streaming_cost(w.size(), 9, 6); }
  std::size_t elements() const { return w.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    const Real base = w[i] + ahead_before * delta[i];
    delta[i] = momentum * delta[i] + rate * (average[i] - base);
    w[i] += delta[i];
    average[i] = w[i] + ahead * delta[i];
  }
  static Example<BlockFilterOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, count] {
      const Real momentum = Real(0.9);
      return BlockFilterOf{
          momentum, 1, momentum, momentum, memory.parameters(count), memory.parameters(count), memory.parameters(count)};
    };
  }
};
using BlockFilter = BlockFilterOf<float>;

}  // namespace paragrad::backend
