#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/kernel.hpp"

/// Rows of a table, chosen by numbers (tokens). The kernels do not check that a number is below the size of the table.
namespace paragrad::backend {

/// y[rows][width] = table[tokens[row]][width]
template <class Real>
struct EmbeddingForwardOf {
  static constexpr KernelId id = KernelId::embedding_forward;

  std::size_t width;
  std::span<const std::int32_t> tokens;
  std::span<const Real> table;
  std::span<Real> y;

  void check() const {
    expect_size(id, "table", table.size(), table.size() / width * width);
    expect_size(id, "y", y.size(), tokens.size() * width);
  }
  KernelCost cost() const { return streaming_cost(y.size(), 0, 2, sizeof(std::int32_t) * tokens.size()); }
  std::size_t elements() const { return y.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    y[i] = table[static_cast<std::size_t>(tokens[i / width]) * width + i % width];
  }
  static Example<EmbeddingForwardOf> example(ExampleMemory& memory, std::size_t count) {
    const std::size_t width = std::min<std::size_t>(count, 64), rows = count / width;
    return [=, &memory] {
      return EmbeddingForwardOf{width, memory.labels(rows), memory.parameters(width), memory.activations(0, rows * width)};
    };
  }
};
using EmbeddingForward = EmbeddingForwardOf<float>;

/// dtable = keep·dtable, then dtable[tokens[row]] += dy[row], row by row: the order of the additions does not depend on the
/// device. An element is a column.
template <class Real>
struct EmbeddingGradientOf {
  static constexpr KernelId id = KernelId::embedding_gradient;

  std::size_t width;
  std::span<const std::int32_t> tokens;
  std::span<const Real> dy;
  Real keep;
  std::span<Real> dtable;

  void check() const {
    expect_size(id, "dy", dy.size(), tokens.size() * width);
    expect_size(id, "dtable", dtable.size(), dtable.size() / width * width);
  }
  KernelCost cost() const { return streaming_cost(dy.size(), 1, 3, sizeof(Real) * (keep == 1 ? 0 : 2) * dtable.size()); }
  std::size_t elements() const { return width; }
  PARAGRAD_HOST_DEVICE void element(std::size_t column) const {
    for (std::size_t i = column; i < dtable.size() && keep != 1; i += width) dtable[i] = keep == 0 ? 0 : keep * dtable[i];
    for (std::size_t row = 0; row < tokens.size(); ++row)
      dtable[static_cast<std::size_t>(tokens[row]) * width + column] += dy[row * width + column];
  }
  static Example<EmbeddingGradientOf> example(ExampleMemory& memory, std::size_t count) {
    const std::size_t width = std::min<std::size_t>(count, 64), rows = count / width;
    return [=, &memory] {
      return EmbeddingGradientOf{width, memory.labels(rows), memory.activations(0, rows * width), 1,
                                 memory.parameters(width)};
    };
  }
};
using EmbeddingGradient = EmbeddingGradientOf<float>;

/// table[tokens[row]][width] = x[row][width]: the inverse of EmbeddingForward. No number may occur twice.
template <class Real>
struct PlaceRowsOf {
  static constexpr KernelId id = KernelId::place_rows;

  std::size_t width;
  std::span<const std::int32_t> tokens;
  std::span<const Real> x;
  std::span<Real> table;

  void check() const {
    expect_size(id, "x", x.size(), tokens.size() * width);
    expect_size(id, "table", table.size(), table.size() / width * width);
  }
  KernelCost cost() const { return streaming_cost(x.size(), 0, 2, sizeof(std::int32_t) * tokens.size()); }
  std::size_t elements() const { return x.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    table[static_cast<std::size_t>(tokens[i / width]) * width + i % width] = x[i];
  }
  static Example<PlaceRowsOf> example(ExampleMemory& memory, std::size_t count) {
    const std::size_t width = std::min<std::size_t>(count, 64), rows = count / width;
    return [=, &memory] {  // all to one place: whatever is there in the end
      return PlaceRowsOf{width, memory.labels(rows), memory.activations(0, rows * width), memory.parameters(width)};
    };
  }
};
using PlaceRows = PlaceRowsOf<float>;

}  // namespace paragrad::backend
