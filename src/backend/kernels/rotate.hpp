#pragma once

#include <algorithm>
#include <cmath>

#include "backend/kernel.hpp"
#include "backend/kernels/window_rows.hpp"

namespace paragrad::backend {

/// Rotary positions (Su et al., arXiv 2104.09864): of x[rows][3][heads][width], queries and keys, taken as pairs of numbers
/// 2i and 2i+1, are turned by the angle step/base^(2i/width), or turned back; values stay. y = keep·y + the result.
template <class Real>
struct RotateOf {
  static constexpr KernelId id = KernelId::rotate;

  WindowRows rows;
  std::size_t heads, width;  ///< width: even
  double base;
  bool back;
  std::span<const Real> x;
  Real keep;
  std::span<Real> y;

  void check() const {
    expect_size(id, "x", x.size(), 3 * rows.size() * heads * width);
    expect_size(id, "y", y.size(), x.size());
  }
  KernelCost cost() const { return streaming_cost(y.size(), 3, keep == 0 ? 2 : 3); }

  /// An element is a pair of numbers.
  std::size_t elements() const { return y.size() / 2; }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    const std::size_t outputs = heads * width, row = 2 * i / (3 * outputs), place = 2 * i % (3 * outputs);
    if (place >= 2 * outputs) return write(i, x[2 * i], x[2 * i + 1]);
    const double angle = angle_of(rows.step_of(row), place % width / 2);
    turn(i, static_cast<Real>(std::cos(angle)), static_cast<Real>(std::sin(angle)));
  }
  PARAGRAD_HOST_DEVICE double angle_of(std::size_t step, std::size_t pair) const {
    const double turns =
        static_cast<double>(step) * std::pow(base, -2 * static_cast<double>(pair) / static_cast<double>(width));
    return back ? -turns : turns;
  }
  PARAGRAD_HOST_DEVICE void turn(std::size_t i, Real cosine, Real sine) const {
    const Real a = x[2 * i], b = x[2 * i + 1];
    write(i, a * cosine - b * sine, a * sine + b * cosine);
  }
  PARAGRAD_HOST_DEVICE void write(std::size_t i, Real a, Real b) const {
    y[2 * i] = accumulate(a, keep, y[2 * i]);
    y[2 * i + 1] = accumulate(b, keep, y[2 * i + 1]);
  }

  static Example<RotateOf> example(ExampleMemory& memory, std::size_t count) {
    const std::size_t width = std::max<std::size_t>(2, std::min<std::size_t>(count / 3, 64) / 2 * 2);
    const std::size_t steps = std::max<std::size_t>(1, count / (3 * width));
    return [=, &memory] {
      return RotateOf{{1, steps}, 1,
                      width,      10000,
                      false,      memory.activations(0, 3 * steps * width),
                      0,          memory.activations(1, 3 * steps * width)};
    };
  }
};
using Rotate = RotateOf<float>;

}  // namespace paragrad::backend
