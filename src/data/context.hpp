#pragma once

#include <cstddef>
#include <string_view>

namespace paragrad::data {

/// The neighbours of a frame that a network sees with it: frames of the same sequence; beyond its ends the first and the
/// last frame are repeated.
struct Context {
  std::size_t left = 0;
  std::size_t right = 0;

  std::size_t frames() const { return left + 1 + right; }
  bool operator==(const Context&) const = default;
};

inline constexpr std::size_t widest_context = 1000;  ///< to either side: more is a mistake

/// "5+5", frames before and after. Throws ConfigError.
Context parse_context(std::string_view text);

}  // namespace paragrad::data
