#pragma once

#include <CLI/CLI.hpp>
#include <istream>
#include <string>
#include <vector>

namespace paragrad::app {

/// Reads the file of --config: a flat TOML file of 'key = value' lines, a value a number, a word, a text in quotes, or a
/// list of them in brackets. What was given on the command line stays. An unknown key, a key that stands twice and a value
/// that its option refuses are core::ConfigErrors that name file and line.
class ConfigFile : public CLI::ConfigTOML {
 public:
  explicit ConfigFile(CLI::App& parser) : parser_(parser) {}

  /// Gives the options what the file holds, and CLI11 nothing to do.
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;

 private:
  CLI::App& parser_;
};

/// One name that is nearly `name`, or "".
std::string nearest_name(const std::string& name, const std::vector<std::string>& known);

}  // namespace paragrad::app
