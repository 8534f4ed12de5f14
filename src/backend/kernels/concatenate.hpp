#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <stdexcept>

#include "backend/activation.hpp"
#include "backend/kernel.hpp"
#include "backend/kernels/activation_backward.hpp"
#include "core/host_device.hpp"

/// Matrices side by side: y[rows][sum of widths] from at most 16 matrices x[rows][width].
namespace paragrad::backend {

struct SideBySide {
  static constexpr std::size_t most = 16;

  std::size_t rows, count;
  std::array<std::size_t, most> widths;

  PARAGRAD_HOST_DEVICE std::size_t width() const {
    std::size_t all = 0;
    for (std::size_t i = 0; i < count; ++i) all += widths[i];
    return all;
  }

  /// A matrix and an element in it.
  struct Place {
    std::size_t part, at;
  };
  PARAGRAD_HOST_DEVICE Place place(std::size_t i) const {
    const std::size_t whole = width(), row = i / whole;
    std::size_t column = i % whole, part = 0;
    for (; column >= widths[part]; ++part) column -= widths[part];
    return {part, row * widths[part] + column};
  }

  void check(KernelId id, const char* name, std::size_t size) const {
    if (count > most) throw std::logic_error("more matrices side by side than a kernel takes");
    expect_size(id, name, size, rows * width());
  }

  /// For calibration: about `count` numbers in two matrices.
  static SideBySide example(std::size_t count) {
    const std::size_t width = std::clamp<std::size_t>(count / 2, 1, 64);
    return {std::max<std::size_t>(1, count / (2 * width)), 2, {{width, width}}};
  }

  /// Every number is read and written once.
  KernelCost cost() const {
    const std::size_t accesses = 2 * rows * width(), bytes = sizeof(float) * accesses;
    KernelCost cost{{bytes, 1, 1}, {}};
    cost.work.add(KernelKind::streaming, accesses, bytes);
    return cost;
  }
};

template <class Real>
struct ConcatenateOf {
  static constexpr KernelId id = KernelId::concatenate;

  SideBySide shape;
  std::array<std::span<const Real>, SideBySide::most> x;
  std::span<Real> y;

  void check() const {
    shape.check(id, "y", y.size());
    for (std::size_t i = 0; i < shape.count; ++i) expect_size(id, "x", x[i].size(), shape.rows * shape.widths[i]);
  }
  KernelCost cost() const { return shape.cost(); }
  std::size_t elements() const { return y.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    const auto [part, at] = shape.place(i);
    y[i] = x[part][at];
  }
  static Example<ConcatenateOf> example(ExampleMemory& memory, std::size_t count) {
    return [shape = SideBySide::example(count), &memory] {
      const auto part = [&](std::size_t i) -> std::span<const Real> {
        return memory.activations(i, shape.rows * shape.widths[i]);
      };
      return ConcatenateOf{shape, {{part(0), part(1)}}, memory.activations(2, shape.rows * shape.width())};
    };
  }
};
using Concatenate = ConcatenateOf<float>;

/// dx = (keep·dx + its columns of dy) ∘ f'(x) for each matrix, where f is the activation function of the operation that
/// computed x. A matrix without dx (empty) is left out.
template <class Real>
struct ConcatenateBackwardOf {
  static constexpr KernelId id = KernelId::concatenate_backward;

  SideBySide shape;
  std::span<const Real> dy;
  std::array<Real, SideBySide::most> keep;
  std::array<Activation, SideBySide::most> f;
  std::array<std::span<const Real>, SideBySide::most> x;  ///< not read if f is the identity, and may then be empty
  std::array<std::span<Real>, SideBySide::most> dx;

  void check() const {
    shape.check(id, "dy", dy.size());
    for (std::size_t i = 0; i < shape.count; ++i) {
      const std::size_t size = shape.rows * shape.widths[i];
      if (!dx[i].empty()) expect_size(id, "dx", dx[i].size(), size);
      if (!dx[i].empty() && f[i] != Activation::identity) expect_size(id, "x", x[i].size(), size);
    }
  }
  KernelCost cost() const { return shape.cost(); }
  std::size_t elements() const { return dy.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    const auto [part, at] = shape.place(i);
    if (dx[part].empty()) return;
    const Real all = accumulate(dy[i], keep[part], dx[part][at]);
    dx[part][at] = f[part] == Activation::identity ? all : all * slope(f[part], x[part][at]);
  }
  static Example<ConcatenateBackwardOf> example(ExampleMemory& memory, std::size_t count) {
    return [shape = SideBySide::example(count), &memory] {
      ConcatenateBackwardOf kernel{shape, memory.activations(2, shape.rows * shape.width()), {}, {}, {}, {}};
      for (std::size_t i = 0; i < shape.count; ++i) kernel.dx[i] = memory.activations(i, shape.rows * shape.widths[i]);
      return kernel;
    };
  }
};
using ConcatenateBackward = ConcatenateBackwardOf<float>;

}  // namespace paragrad::backend
