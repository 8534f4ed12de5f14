#pragma once

#include <CLI/CLI.hpp>
#include <istream>
#include <string>
#include <vector>

#include "core/errors.hpp"

namespace paragrad::app {

/// Reads the --config file: a flat TOML file of 'key = value' lines, where a value is a number, a word, a quoted string, or
/// a bracketed list of these. Options given on the command line keep their values. An unknown key, a duplicate key and a
/// value that its option rejects are core::ConfigErrors that name file and line.
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

/// A line of such a file.
struct ConfigEntry {
  std::string file;
  int line = 0;
  std::string key;
  std::vector<std::string> values;  ///< one, or those of a list
  bool is_list = false;

  core::ConfigError error(const std::string& what) const;  ///< names file and line
};

/// Throws ConfigError for a line that is not 'key = value' and for a duplicate key.
std::vector<ConfigEntry> read_config(std::istream& input, const std::string& file);

/// The option of that name that a file may set. Throws ConfigError for others, with the name that was probably meant.
CLI::Option& option_of(CLI::App& parser, const ConfigEntry& entry);

}  // namespace paragrad::app
