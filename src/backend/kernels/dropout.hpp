#pragma once

#include <cstdint>

#include "backend/kernel.hpp"
#include "backend/kernels/sampling.hpp"
#include "core/philox.hpp"

namespace paragrad::backend {

/// y[rows][units] = keep·y + (x/(1 - p) with probability 1 - p, else 0) (Srivastava et al., JMLR 2014). Whether a unit is
/// dropped depends on the stream, on rows[i] and on its number alone, so the backward pass draws the same, and so do workers
/// that hold the units from first_unit on.
template <class Real>
struct DropoutOf {
  static constexpr KernelId id = KernelId::dropout;

  core::RandomStream random;
  std::span<const std::uint32_t> rows;
  std::size_t units, first_unit;
  double p;
  std::span<const Real> x;
  Real keep;
  std::span<Real> y;

  void check() const {
    expect_size(id, "x", x.size(), rows.size() * units);
    expect_size(id, "y", y.size(), rows.size() * units);
  }
  KernelCost cost() const { return streaming_cost(y.size(), philox_operations, keep == 0 ? 2 : 3); }
  std::size_t elements() const { return y.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    const std::uint32_t word = RandomRows{random, rows, units, first_unit}.word(i);
    const bool dropped = static_cast<double>(uniform<float>(word)) < p;
    y[i] = accumulate(dropped ? Real(0) : x[i] * static_cast<Real>(1 / (1 - p)), keep, y[i]);
  }
  static Example<DropoutOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, drawn = RandomRows::example(memory, count)] {
      return DropoutOf{drawn.random,
                       drawn.rows,
                       drawn.units,
                       0,
                       0.5,
                       memory.activations(0, drawn.size()),
                       0,
                       memory.activations(1, drawn.size())};
    };
  }
};
using Dropout = DropoutOf<float>;

}  // namespace paragrad::backend
