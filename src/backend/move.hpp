#pragma once

#include <cstddef>
#include <functional>

namespace paragrad::backend {

/// A copy, to = from, or a sum, to += from.
struct Move {
  static constexpr std::size_t most_at_once = 64;  ///< for one launch of a GPU

  const float* from;
  float* to;
  std::size_t floats;
  bool adds;

  /// Whether the two must keep their order.
  bool depends_on(const Move& other) const {
    return overlap(to, floats, other.to, other.floats) || overlap(to, floats, other.from, other.floats) ||
           overlap(from, floats, other.to, other.floats);
  }

 private:
  static bool overlap(const float* a, std::size_t a_floats, const float* b, std::size_t b_floats) {
    return std::less<>()(a, b + b_floats) && std::less<>()(b, a + a_floats);
  }
};

}  // namespace paragrad::backend
