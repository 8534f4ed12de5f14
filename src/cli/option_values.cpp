#include "cli/option_values.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/units.hpp"

namespace paragrad::cli {

std::vector<std::string> typed_names(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<const CLI::Option*> named_options(const CLI::App& parser) {
  return parser.get_options([](const CLI::Option* option) { return option->nonpositional(); });
}

std::vector<const CLI::Option*> unnamed_arguments(const CLI::App& parser) {
  return parser.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

std::string value_kind(const CLI::Option& option) {
  if (option.get_type_size() == 0) return "";
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

// CLI11 keeps the members of a set only in the type's name: TEXT:{a,b}.
std::vector<std::string> known_values(const CLI::Option& option) {
  if (value_kind(option) == "BOOLEAN") return {"true", "false"};
  const std::string type = option.get_type_name();
  const auto begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  return CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
}

bool may_be_file(const CLI::Option& option) {
  const std::string kind = value_kind(option);
  return kind == "PATH" || (kind == "TEXT" && known_values(option).empty());
}

double parse_size(const std::string& name, const std::string& text, double least, double most) {
  using core::Unit;
  double bytes = 0;
  try {
    bytes = core::parse_quantity(text, Unit::bytes);
  } catch (const core::ConfigError& error) {
    throw core::ConfigError(core::format("{}: {}", name, error.what()));
  }
  if (bytes < least || bytes > most)
    throw core::ConfigError(core::format("{}: '{}' is outside {} … {}", name, text,
                                         core::format_quantity(least, Unit::bytes),
                                         core::format_quantity(most, Unit::bytes)));
  return bytes;
}

}  // namespace paragrad::cli
