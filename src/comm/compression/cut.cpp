#include <algorithm>

#include "comm/compression/gradient_sum.hpp"

namespace paragrad::comm {
namespace {

/// The matrix that holds element `position`, or the end of the layout.
std::size_t matrix_at(std::span<const core::Matrix> layout, std::size_t position) {
  const auto behind = std::upper_bound(layout.begin(), layout.end(), position,
                                       [](std::size_t p, const core::Matrix& matrix) { return p < matrix.range().end; });
  return static_cast<std::size_t>(behind - layout.begin());
}

}  // namespace

std::size_t cut_below(std::span<const core::Matrix> layout, Grain grain, std::size_t position) {
  if (grain == Grain::element) return position;
  const std::size_t at = matrix_at(layout, position);
  if (at == layout.size()) return position;
  const core::Matrix& matrix = layout[at];
  const std::size_t within = position - matrix.begin;
  return matrix.begin + (grain == Grain::column ? within / matrix.shape.rows * matrix.shape.rows : 0);
}

std::vector<core::Matrix> columns_within(std::span<const core::Matrix> layout, core::Range range) {
  std::vector<core::Matrix> parts;
  if (range.empty()) return parts;
  for (std::size_t i = matrix_at(layout, range.begin); i < layout.size() && layout[i].begin < range.end; ++i) {
    const core::Matrix& matrix = layout[i];
    if (matrix.shape.size() == 0) continue;
    const std::size_t begin = std::max(range.begin, matrix.begin), end = std::min(range.end, matrix.range().end);
    core::Matrix piece = matrix;
    piece.begin = begin - range.begin;
    piece.shape.columns = (end - begin) / matrix.shape.rows;
    piece.part = matrix.part || end - begin < matrix.shape.size();
    parts.push_back(piece);
  }
  return parts;
}

}  // namespace paragrad::comm
