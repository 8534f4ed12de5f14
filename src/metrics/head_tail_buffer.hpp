#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace paragrad::metrics {

/// A list that keeps only its first and last entries, at most `limit` in total.
template <class T>
class HeadTailBuffer {
 public:
  explicit HeadTailBuffer(std::size_t limit) : first_limit_(limit - limit / 2), last_limit_(limit / 2) {}

  void add(T entry) {
    if (first_.size() < first_limit_) return first_.push_back(std::move(entry));
    if (last_.size() < last_limit_) return last_.push_back(std::move(entry));
    ++dropped_;
    if (last_.empty()) return;
    last_[oldest_] = std::move(entry);
    oldest_ = (oldest_ + 1) % last_.size();
  }

  std::uint64_t dropped() const { return dropped_; }

  /// Returns the entries in insertion order and empties the buffer.
  std::vector<T> take() {
    std::rotate(last_.begin(), last_.begin() + static_cast<std::ptrdiff_t>(oldest_), last_.end());
    first_.insert(first_.end(), std::make_move_iterator(last_.begin()), std::make_move_iterator(last_.end()));
    last_.clear();
    oldest_ = 0;
    return std::exchange(first_, {});
  }

 private:
  std::size_t first_limit_;
  std::size_t last_limit_;
  std::vector<T> first_;
  std::vector<T> last_;     // a ring once it is full
  std::size_t oldest_ = 0;  // in last_
  std::uint64_t dropped_ = 0;
};

}  // namespace paragrad::metrics
