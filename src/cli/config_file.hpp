#pragma once

#include <CLI/CLI.hpp>
#include <istream>
#include <string>
#include <vector>

#include "cli/flat_toml.hpp"

namespace paragrad::cli {

/// Reads the --config file: TOML without tables, where a value is a number, true or false, a string, or a list of these.
/// Options given on the command line keep their values. An unknown key and a value that its option rejects are
/// core::ConfigErrors that name file and line.
class ConfigFile : public CLI::ConfigTOML {
 public:
  explicit ConfigFile(CLI::App& parser) : parser_(parser) {}

  /// Sets the options from the file itself and leaves CLI11 nothing to do.
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;

  /// A line for each option with a value, by group.
  std::string to_config(const CLI::App* app, bool default_also, bool write_description, std::string prefix) const override;

 private:
  CLI::App& parser_;
};

/// The option of that name that a file may set. Throws ConfigError for others, with the name that was probably meant.
CLI::Option& option_of(CLI::App& parser, const ConfigEntry& entry);

}  // namespace paragrad::cli
