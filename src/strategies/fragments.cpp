#include "strategies/fragments.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "backend/kernels/copy.hpp"
#include "backend/kernels/move_towards.hpp"

namespace paragrad::strategies {
namespace {

/// Calls action(range of the parameters, the same elements when packed) for each range of a fragment.
template <class Action>
void for_ranges(std::span<const core::Range> ranges, const Action& action) {
  std::size_t at = 0;
  for (const core::Range range : ranges) {
    action(range, core::Range{at, at + range.size()});
    at += range.size();
  }
}

std::vector<Fragment> those_with_matrices(std::vector<std::vector<core::Matrix>> matrices) {
  std::vector<Fragment> fragments;
  for (std::vector<core::Matrix>& of_one : matrices)
    if (!of_one.empty()) fragments.emplace_back(std::move(of_one));
  return fragments;
}

}  // namespace

Fragment::Fragment(std::vector<core::Matrix> matrices) : layout_(std::move(matrices)) {
  std::ranges::sort(layout_, {}, &core::Matrix::begin);
  for (core::Matrix& matrix : layout_) {
    const core::Range range = matrix.range();
    matrix.begin = size_;
    size_ += range.size();
    if (!ranges_.empty() && ranges_.back().end == range.begin)
      ranges_.back().end = range.end;
    else
      ranges_.push_back(range);
  }
}

std::vector<core::Range> Fragment::unpacked(core::Range packed) const {
  std::vector<core::Range> result;
  for_ranges(ranges_, [&](core::Range range, core::Range at) {
    const core::Range part{std::max(packed.begin, at.begin), std::min(packed.end, at.end)};
    if (part.begin < part.end) result.push_back({range.begin + part.begin - at.begin, range.begin + part.end - at.begin});
  });
  return result;
}

void Fragment::pack(backend::KernelQueue& queue, std::span<const float> parameters, std::span<float> packed) const {
  for_ranges(ranges_, [&](core::Range range, core::Range at) {
    queue.run(backend::Copy{range.of(parameters), at.of(packed)});
  });
}

void Fragment::unpack(backend::KernelQueue& queue, std::span<const float> packed, std::span<float> parameters) const {
  for_ranges(ranges_, [&](core::Range range, core::Range at) {
    queue.run(backend::Copy{at.of(packed), range.of(parameters)});
  });
}

void Fragment::move_towards(backend::KernelQueue& queue, float share, std::span<const float> packed,
                            std::span<float> parameters) const {
  for_ranges(ranges_, [&](core::Range range, core::Range at) {
    queue.run(backend::MoveTowards{share, at.of(packed), range.of(parameters)});
  });
}

std::vector<Fragment> strided_fragments(std::span<const core::Matrix> layout, std::size_t count) {
  std::vector<std::vector<core::Matrix>> matrices(count);
  for (const core::Matrix& matrix : layout)
    matrices[matrix.block < 0 ? 0 : static_cast<std::size_t>(matrix.block) % count].push_back(matrix);
  return those_with_matrices(std::move(matrices));
}

std::vector<Fragment> packed_fragments(std::span<const core::Matrix> layout, std::size_t count) {
  const auto size = [](const core::Matrix& matrix) { return matrix.shape.size(); };
  std::vector<core::Matrix> matrices(layout.begin(), layout.end());
  std::ranges::stable_sort(matrices, std::greater<>{}, size);
  std::vector<std::vector<core::Matrix>> dealt(count);
  std::vector<std::size_t> sizes(count);
  for (const core::Matrix& matrix : matrices) {
    const auto smallest = static_cast<std::size_t>(std::ranges::min_element(sizes) - sizes.begin());
    dealt[smallest].push_back(matrix);
    sizes[smallest] += size(matrix);
  }
  return those_with_matrices(std::move(dealt));
}

}  // namespace paragrad::strategies
