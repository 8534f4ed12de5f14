#include "comm/parts.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/format.hpp"

namespace paragrad::comm {

Parts::Parts(std::span<const core::Range> ranges)
    : ranges_(ranges), length_(0), workers_(static_cast<int>(ranges.size())), largest_(0) {
  for (const core::Range& range : ranges) {
    if (range.begin != length_ || range.end < range.begin)
      throw std::logic_error(core::format("the parts of an array are neither in order nor without gaps: {} … {} follows {}",
                                          range.begin, range.end, length_));
    length_ = range.end;
    largest_ = std::max(largest_, range.size());
  }
  if (ranges.empty()) throw std::logic_error("an array is cut into no parts");
}

Parts::Parts(std::size_t length, int workers)
    : length_(length),
      workers_(workers),
      largest_((length + static_cast<std::size_t>(workers) - 1) / static_cast<std::size_t>(workers)) {}

Parts Parts::even(std::size_t length, int workers) {
  if (workers < 1) throw std::logic_error("an array is cut into no parts");
  return {length, workers};
}

core::Range Parts::between(int first, int count) const { return {of(first).begin, of(first + count - 1).end}; }

}  // namespace paragrad::comm
