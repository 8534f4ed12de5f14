#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace paragrad::backend {

/// Layout of the frames of several sequences: all first frames, all second frames, …, the longest sequence first. active[t]
/// is the number of sequences that have a frame t, at most active[t-1].
class Steps {
 public:
  /// Refers to the numbers, which must outlive it.
  explicit Steps(std::span<const std::uint32_t> active) : active_(active) {
    for (std::size_t t = 0; t < active.size(); ++t) {
      if (active[t] == 0 || (t > 0 && active[t] > active[t - 1]))
        throw std::logic_error("the sequences of a minibatch are not in the order of their lengths");
      frames_ += active[t];
    }
  }

  /// Keeps the numbers.
  explicit Steps(std::vector<std::uint32_t> active) : Steps(std::make_shared<const Numbers>(std::move(active))) {}

  /// The same layout with numbers of its own, for a call that is executed later.
  Steps kept() const { return owner_ ? *this : Steps(Numbers(active_.begin(), active_.end())); }

  std::span<const std::uint32_t> active() const { return active_; }
  std::size_t count() const { return active_.size(); }
  std::size_t frames() const { return frames_; }
  std::size_t most_rows() const { return active_.empty() ? 0 : active_[0]; }

  struct Step {
    std::size_t row = 0;            ///< of its first frame
    std::size_t rows = 0;           ///< one per sequence
    std::size_t row_before = 0;     ///< first row of the previous step in this direction
    std::size_t rows_continue = 0;  ///< number of leading rows that have a previous step
  };

  /// Visits all steps in the order of a direction, or in reverse.
  template <class Visit>
  void walk(bool backwards, bool in_order, const Visit& visit) const {
    const bool upwards = backwards != in_order;
    std::size_t row = upwards ? 0 : frames_;
    for (std::size_t i = 0; i < count(); ++i) {
      const std::size_t t = upwards ? i : count() - 1 - i;
      const std::size_t rows = active_[t];
      if (!upwards) row -= rows;
      Step step{row, rows, 0, 0};
      if (!backwards && t > 0) step = {row, rows, row - active_[t - 1], rows};
      if (backwards && t + 1 < count()) step = {row, rows, row + rows, active_[t + 1]};
      visit(step);
      if (upwards) row += rows;
    }
  }

 private:
  using Numbers = std::vector<std::uint32_t>;
  explicit Steps(std::shared_ptr<const Numbers> owner) : Steps(std::span<const std::uint32_t>(*owner)) {
    owner_ = std::move(owner);
  }

  std::shared_ptr<const Numbers> owner_;  // null: the numbers belong to the caller
  std::span<const std::uint32_t> active_;
  std::size_t frames_ = 0;
};

}  // namespace paragrad::backend
