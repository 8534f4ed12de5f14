#pragma once

#include "backend/kernel.hpp"

namespace paragrad::backend {

/// *into += weight·Σ (a - b)², summed in double in an order that depends on the length alone.
template <class Real>
struct SquaredDistanceOf {
  static constexpr KernelId id = KernelId::squared_distance;

  double weight;
  std::span<const Real> a, b;
  double* into;

  void check() const { expect_size(id, "a", a.size(), b.size()); }
  KernelCost cost() const { return streaming_cost(terms(), 3, 2); }
  std::size_t terms() const { return a.size(); }
  PARAGRAD_HOST_DEVICE double term(std::size_t i) const {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    return difference * difference;
  }
  static Example<SquaredDistanceOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, count] {
      return SquaredDistanceOf{1, memory.activations(0, count), memory.activations(1, count), &memory.loss()->loss};
    };
  }
};
using SquaredDistance = SquaredDistanceOf<float>;

}  // namespace paragrad::backend
