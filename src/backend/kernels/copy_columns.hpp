#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include "backend/kernel.hpp"

namespace paragrad::backend {

/// Refuses sizes of matrices that do not fit the copied columns.
inline void check_columns(KernelId id, std::size_t rows, std::size_t columns, std::size_t from_width, std::size_t from,
                          std::size_t to_width, std::size_t to) {
  if (rows > 1 && (columns > from_width || columns > to_width))
    throw std::logic_error(std::string(kernel_name(id)) + ": more columns than a row has");
  const std::size_t steps = std::max<std::size_t>(rows, 1) - 1, last = rows == 0 ? 0 : columns;
  expect_size(id, "from", from, steps * from_width + last);
  expect_size(id, "to", to, steps * to_width + last);
}

/// to[r][c] = from[r][c] for `columns` columns; the rows of the two matrices may be longer: from_width and to_width
/// elements. Other elements are left unchanged.
template <class Real>
struct CopyColumnsOf {
  static constexpr KernelId id = KernelId::copy_columns;

  std::size_t rows, columns, from_width;
  std::span<const Real> from;
  std::size_t to_width;
  std::span<Real> to;

  void check() const { check_columns(id, rows, columns, from_width, from.size(), to_width, to.size()); }
  KernelCost cost() const { return streaming_cost(rows * columns, 0, 2); }
  std::size_t elements() const { return rows * columns; }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    const std::size_t row = i / columns, column = i % columns;
    to[row * to_width + column] = from[row * from_width + column];
  }
  static Example<CopyColumnsOf> example(ExampleMemory& memory, std::size_t count) {
    const std::size_t wide = std::min<std::size_t>(count, 512), rows = count / wide;
    return [=, &memory] {
      const auto from = memory.parameters(count).first(rows * wide);
      return CopyColumnsOf{rows, wide, wide, from, wide, memory.parameters(count).first(rows * wide)};
    };
  }
};
using CopyColumns = CopyColumnsOf<float>;

}  // namespace paragrad::backend
