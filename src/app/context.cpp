#include "app/context.hpp"

#include <charconv>
#include <system_error>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "data/format.hpp"

namespace paragrad::app {

data::Context parse_context(const std::string& text) {
  const auto plus = text.find('+');
  data::Context context;
  const auto number = [&](std::size_t begin, std::size_t end, std::size_t& value) {
    const auto [stop, error] = std::from_chars(text.data() + begin, text.data() + end, value);
    return error == std::errc() && stop == text.data() + end && value <= data::widest_context;
  };
  if (plus == std::string::npos || !number(0, plus, context.left) || !number(plus + 1, text.size(), context.right))
    throw core::ConfigError(
        core::format("--context '{}' is not two numbers of frames up to {}, as 5+5", text, data::widest_context));
  return context;
}

}  // namespace paragrad::app
