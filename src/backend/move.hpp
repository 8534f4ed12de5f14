#pragma once

#include <cstddef>
#include <functional>

namespace paragrad::backend {

/// A copy, to = from, or a sum, to += from.
struct Move {
  const float* from;
  float* to;
  std::size_t floats;
  bool adds;

  /// Whether one of the two must see what the other does first.
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
