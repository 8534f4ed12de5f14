#include "data/context.hpp"

#include <charconv>
#include <system_error>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/options.hpp"

namespace paragrad::data {

Context parse_context(std::string_view text) {
  const auto plus = text.find('+');
  Context context;
  const auto number = [](std::string_view digits, std::size_t& value) {
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && stop == digits.data() + digits.size() && value <= widest_context;
  };
  if (plus == std::string_view::npos || !number(text.substr(0, plus), context.left) ||
      !number(text.substr(plus + 1), context.right))
    throw core::ConfigError(
        core::format("`context` '{}' is not two frame counts of at most {}, like 5+5", text, widest_context));
  return context;
}

void describe_context(core::OptionList& list, Context& context) {
  list.parsed<Context>("context", context, parse_context, core::format("{}+{}", context.left, context.right),
                       "frames of context left and right of each frame that the network sees, such as 5+5");
}

}  // namespace paragrad::data
