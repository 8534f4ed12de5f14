#pragma once

#include <cmath>

#include "backend/kernel.hpp"

namespace paragrad::backend {

/// *into += weight·Σ log(1 + e^x), summed in double in an order that depends on the length alone; each term is accurate to
/// 2e-7, relative or absolute. NaN stays NaN.
template <class Real>
struct SoftplusSumOf {
  static constexpr KernelId id = KernelId::softplus_sum;

  double weight;
  std::span<const Real> x;
  double* into;

  void check() const {}
  KernelCost cost() const { return streaming_cost(terms(), 30, 1); }  // an exponential and a logarithm
  std::size_t terms() const { return x.size(); }
  PARAGRAD_HOST_DEVICE double term(std::size_t i) const {
    const double z = static_cast<double>(x[i]);
    return (z < 0 ? 0 : z) + std::log1p(std::exp(-std::abs(z)));
  }
  static Example<SoftplusSumOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, count] { return SoftplusSumOf{1, memory.activations(0, count), &memory.loss()->loss}; };
  }
};
using SoftplusSum = SoftplusSumOf<float>;

}  // namespace paragrad::backend
