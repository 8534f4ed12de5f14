#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "backend/device.hpp"
#include "core/layout.hpp"
#include "core/range.hpp"

namespace paragrad::strategies {

/// Whole matrices of the parameters that are exchanged at once, packed one after the other.
class Fragment {
 public:
  explicit Fragment(std::vector<core::Matrix> matrices);

  std::size_t size() const { return size_; }  ///< in elements

  /// The packed matrices.
  std::span<const core::Matrix> layout() const { return layout_; }

  /// Ranges of the parameters, in ascending order; neighbours are merged.
  std::span<const core::Range> ranges() const { return ranges_; }

  /// Where a range of the packed elements lies in the parameters.
  std::vector<core::Range> unpacked(core::Range packed) const;

  void pack(backend::KernelQueue& queue, std::span<const float> parameters, std::span<float> packed) const;
  void unpack(backend::KernelQueue& queue, std::span<const float> packed, std::span<float> parameters) const;

  /// Moves the parameters towards the packed values by `share` of their distance.
  void move_towards(backend::KernelQueue& queue, float share, std::span<const float> packed,
                    std::span<float> parameters) const;

 private:
  std::vector<core::Matrix> layout_;
  std::vector<core::Range> ranges_;
  std::size_t size_ = 0;
};

/// Cuts a layout into `count` fragments, or fewer if there are fewer blocks: the matrices of block k of the network go to
/// fragment k mod count, those of no block to the first (Douillard et al., arXiv 2501.18512).
std::vector<Fragment> strided_fragments(std::span<const core::Matrix> layout, std::size_t count);

/// Cuts a layout into `count` fragments of about equal sizes, or fewer if there are fewer matrices: the largest matrix that
/// is left goes to the smallest fragment, of equal ones to the first.
std::vector<Fragment> packed_fragments(std::span<const core::Matrix> layout, std::size_t count);

}  // namespace paragrad::strategies
