#include "app/number_options.hpp"

#include <stdexcept>

#include "app/option_values.hpp"
#include "core/errors.hpp"
#include "core/join.hpp"
#include "core/units.hpp"

namespace paragrad::app {
namespace numbers {

CLI::Option* add(CLI::App& parser, const std::string& name, const std::string& type, const std::string& by_default,
                 const std::function<void(const std::string&)>& take, const std::string& description) {
  const auto callback = [name, take](const CLI::results_t& given) {
    try {
      take(given.front());
    } catch (const core::OptionError& error) {
      throw CLI::ValidationError(name, error.reason);
    }
    return true;
  };
  return parser.add_option(name, CLI::callback_t(callback), description)->type_name(type)->default_str(by_default);
}

}  // namespace numbers

CLI::Option* add_flag(CLI::App& parser, const std::string& name, bool& value, const std::string& description) {
  const auto take = [name, &value](const std::string& text) { value = core::parse_flag(name, text); };
  return numbers::add(parser, name, "BOOLEAN", value ? "true" : "false", take, description);
}

CLI::Option* add_words(CLI::App& parser, const std::string& name, std::vector<std::string>& values,
                       const std::string& description) {
  const auto take = [name, &values](const std::string& text) { values = core::list_of(name, text); };
  return numbers::add(parser, name, "TEXT,...", core::format("{}", core::join(values, ",")), take, description);
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

void check_that_numbers_have_limits(const CLI::App& parser) {
  for (const CLI::Option* option : parser.get_options({})) {
    const std::string type = option->get_type_name();
    for (const char* number : {"INT", "UINT", "FLOAT"})
      if (type == number) throw std::logic_error(core::format("{} has no limits: use add_number", option->get_name()));
  }
  for (const CLI::App* command : parser.get_subcommands({})) check_that_numbers_have_limits(*command);
}

}  // namespace paragrad::app
