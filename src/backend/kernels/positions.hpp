#pragma once

#include <algorithm>

#include "backend/kernel.hpp"
#include "backend/kernels/window_rows.hpp"

/// A learned vector for each position in a sequence. table[positions][width] has at least as many as the sequences steps.
namespace paragrad::backend {

/// y[rows][width] = x + table[step of the row]
template <class Real>
struct AddPositionsOf {
  static constexpr KernelId id = KernelId::add_positions;

  WindowRows rows;
  std::size_t width;
  std::span<const Real> x, table;
  std::span<Real> y;

  void check() const {
    expect_size(id, "x", x.size(), rows.size() * width);
    expect_size(id, "table", std::min(table.size(), rows.steps * width), rows.steps * width);
    expect_size(id, "y", y.size(), rows.size() * width);
  }
  KernelCost cost() const { return streaming_cost(y.size(), 1, 3); }
  std::size_t elements() const { return y.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    y[i] = x[i] + table[rows.step_of(i / width) * width + i % width];
  }
  static Example<AddPositionsOf> example(ExampleMemory& memory, std::size_t count) {
    const std::size_t width = std::min<std::size_t>(count, 64), steps = count / width;
    return [=, &memory] {
      return AddPositionsOf{{1, steps},
                            width,
                            memory.activations(0, steps * width),
                            memory.parameters(steps * width),
                            memory.activations(1, steps * width)};
    };
  }
};
using AddPositions = AddPositionsOf<float>;

/// dtable = keep·dtable + the sums of dy[rows][width] over the sequences, in their order. An element is a number of the
/// table.
template <class Real>
struct PositionsGradientOf {
  static constexpr KernelId id = KernelId::positions_gradient;

  WindowRows rows;
  std::size_t width;
  std::span<const Real> dy;
  Real keep;
  std::span<Real> dtable;

  void check() const {
    expect_size(id, "dy", dy.size(), rows.size() * width);
    expect_size(id, "dtable", std::min(dtable.size(), rows.steps * width), rows.steps * width);
  }
  KernelCost cost() const { return streaming_cost(dy.size(), 1, 1, 2 * sizeof(Real) * dtable.size()); }
  std::size_t elements() const { return dtable.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    const std::size_t step = i / width;
    Real sum = 0;
    for (std::size_t s = 0; s < rows.sequences && step < rows.steps; ++s) sum += dy[rows.row(step, s) * width + i % width];
    dtable[i] = accumulate(sum, keep, dtable[i]);
  }
  static Example<PositionsGradientOf> example(ExampleMemory& memory, std::size_t count) {
    const std::size_t width = std::min<std::size_t>(count, 64), steps = count / width;
    return [=, &memory] {
      return PositionsGradientOf{
          {1, steps}, width, memory.activations(0, steps * width), 0, memory.parameters(steps * width)};
    };
  }
};
using PositionsGradient = PositionsGradientOf<float>;

}  // namespace paragrad::backend
