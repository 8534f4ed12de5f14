#pragma once

#include <algorithm>

#include "backend/kernel.hpp"
#include "backend/kernels/copy_columns.hpp"

namespace paragrad::backend {

/// to[r][c] += from[r][c] for `columns` columns; the rows of the two matrices may be longer: from_width and to_width
/// elements.
template <class Real>
struct AddColumnsOf {
  static constexpr KernelId id = KernelId::add_columns;

  std::size_t rows, columns, from_width;
  std::span<const Real> from;
  std::size_t to_width;
  std::span<Real> to;

  void check() const { check_columns(id, rows, columns, from_width, from.size(), to_width, to.size()); }
  KernelCost cost() const { return streaming_cost(rows * columns, 1, 3); }
  std::size_t elements() const { return rows * columns; }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    const std::size_t row = i / columns, column = i % columns;
    to[row * to_width + column] += from[row * from_width + column];
  }
  static Example<AddColumnsOf> example(ExampleMemory& memory, std::size_t count) {
    const std::size_t wide = std::min<std::size_t>(count, 512), rows = count / wide;
    return [=, &memory] {
      const auto from = memory.parameters(count).first(rows * wide);
      return AddColumnsOf{rows, wide, wide, from, wide, memory.parameters(count).first(rows * wide)};
    };
  }
};
using AddColumns = AddColumnsOf<float>;

}  // namespace paragrad::backend
