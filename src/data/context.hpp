#pragma once

#include <cstddef>
#include <string_view>

namespace paragrad::core {
class OptionList;
}

namespace paragrad::data {

/// The neighbouring frames that a network sees together with a frame, from the same sequence; beyond the ends of the
/// sequence its first or last frame is repeated.
struct Context {
  std::size_t left = 0;
  std::size_t right = 0;

  std::size_t frames() const { return left + 1 + right; }
  bool operator==(const Context&) const = default;
};

inline constexpr std::size_t widest_context = 1000;  ///< frames on either side; more is rejected as a mistake

/// Parses "5+5": frames before and after. Throws ConfigError.
Context parse_context(std::string_view text);

/// The option `context` of a command that makes a data file.
void describe_context(core::OptionList& list, Context& context);

}  // namespace paragrad::data
