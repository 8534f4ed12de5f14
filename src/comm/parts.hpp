#pragma once

#include <span>
#include <vector>

#include "core/range.hpp"

namespace paragrad::comm {

/// How an array is cut into one part per worker, in rank order: parts of any lengths, also empty, without gaps. A view of
/// ranges that their owner keeps, or equal parts, which need no memory however many workers there are.
class Parts {
 public:
  /// Throws logic_error if the ranges overlap, leave a gap, or do not begin at 0.
  explicit Parts(std::span<const core::Range> ranges);
  explicit Parts(std::vector<core::Range>&&) = delete;  // which nobody keeps

  /// Parts whose lengths differ by at most one: core::part_of.
  static Parts even(std::size_t length, int workers);

  core::Range of(int worker) const {
    const auto index = static_cast<std::size_t>(worker);
    return ranges_.empty() ? core::part_of(length_, static_cast<std::size_t>(workers_), index) : ranges_[index];
  }

  /// The elements of `count` neighbouring parts (at least one).
  core::Range between(int first, int count) const;

  int workers() const { return workers_; }
  std::size_t length() const { return length_; }    ///< of the array
  std::size_t largest() const { return largest_; }  ///< length of a part

 private:
  Parts(std::size_t length, int workers);

  std::span<const core::Range> ranges_{};  // empty: equal parts
  std::size_t length_;
  int workers_;
  std::size_t largest_;
};

/// Neighbouring ranges of the lengths length_of(0) … length_of(count - 1), from 0 on.
template <class LengthOf>
std::vector<core::Range> neighbouring_ranges(int count, LengthOf length_of) {
  std::vector<core::Range> ranges;
  ranges.reserve(static_cast<std::size_t>(count));
  std::size_t begin = 0;
  for (int i = 0; i < count; ++i) {
    ranges.push_back({begin, begin + length_of(i)});
    begin = ranges.back().end;
  }
  return ranges;
}

}  // namespace paragrad::comm
