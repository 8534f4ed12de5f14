#include <charconv>

#include "comm/compression/makers.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::comm {

std::vector<CompressionEntry> compression_catalogue() {
  return {
#define COMPRESSION(name, syntax, options, description) {#name, syntax, options, description},
#include "comm/compression/catalogue.def"
#undef COMPRESSION
  };
}

std::unique_ptr<GradientSum> make_gradient_sum(const CompressionOptions& options) {
  const std::string_view text = options.name;
  const auto colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const std::string_view given = colon == std::string_view::npos ? "" : text.substr(colon + 1);
#define COMPRESSION(known, syntax, options_used, description)                                    \
  if (name == #known) {                                                                          \
    if (given.empty() != std::string_view(syntax).empty())                                       \
      throw core::ConfigError(core::format("compression '{}': write {}{}", text, name, syntax)); \
    return compression::make_##known(given, options);                                            \
  }
#include "comm/compression/catalogue.def"
#undef COMPRESSION
  std::vector<std::string> names;
  for (const auto& entry : compression_catalogue()) names.push_back(entry.name + entry.parameter);
  throw core::unknown_name("gradient compression", text, names);
}

namespace compression {

double parse_parameter(std::string_view name, std::string_view text) {
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size())
    throw core::ConfigError(core::format("compression '{}:{}': '{}' is not a number", name, text, text));
  return value;
}

}  // namespace compression
}  // namespace paragrad::comm
