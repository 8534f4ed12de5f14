#include "app/command.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::app {

std::unique_ptr<CLI::App> make_parser(const std::string& name, const std::string& description) {
  auto parser = std::make_unique<CLI::App>(description, name);
  parser->option_defaults()->always_capture_default();
  parser->get_formatter()->column_width(34);
  return parser;
}

void accept_config_file(CLI::App& parser) {
  parser.set_config("--config", "", "read options from a TOML file; the command line wins");
  parser.allow_config_extras(CLI::config_extras_mode::error);
}

std::optional<int> parse(CLI::App& parser, std::span<char*> arguments) {
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants them
  try {
    parser.parse(reversed);
  } catch (const CLI::Success& help) {
    return parser.exit(help);
  } catch (const CLI::ParseError& error) {
    throw core::ConfigError(core::format("{} (see {} --help)", error.what(), parser.get_name()));
  }
  return std::nullopt;
}

}  // namespace paragrad::app
