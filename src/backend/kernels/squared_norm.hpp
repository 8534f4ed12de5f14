#pragma once

#include "backend/kernel.hpp"

namespace paragrad::backend {

/// *into += weight·Σ x², summed in double in an order that depends on the length alone.
template <class Real>
struct SquaredNormOf {
  static constexpr KernelId id = KernelId::squared_norm;

  double weight;
  std::span<const Real> x;
  double* into;

  void check() const {}
  KernelCost cost() const { return streaming_cost(terms(), 2, 1); }
  std::size_t terms() const { return x.size(); }
  PARAGRAD_HOST_DEVICE double term(std::size_t i) const { return static_cast<double>(x[i]) * static_cast<double>(x[i]); }
  static Example<SquaredNormOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, count] { return SquaredNormOf{1, memory.parameters(count), &memory.loss()->loss}; };
  }
};
using SquaredNorm = SquaredNormOf<float>;

}  // namespace paragrad::backend
