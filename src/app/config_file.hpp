#pragma once

#include <CLI/CLI.hpp>
#include <istream>
#include <string>
#include <vector>

namespace paragrad::app {

/// Reads the --config file: a flat TOML file of 'key = value' lines, where a value is a number, a word, a quoted string, or
/// a bracketed list of these. Options given on the command line keep their values. An unknown key, a duplicate key and a
/// value that its option rejects are core::ConfigErrors that name file and line.
class ConfigFile : public CLI::ConfigTOML {
 public:
  explicit ConfigFile(CLI::App& parser) : parser_(parser) {}

  /// Sets the options from the file itself and leaves CLI11 nothing to do.
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;

 private:
  CLI::App& parser_;
};

/// The known name closest to `name`, or "" if none is close.
std::string nearest_name(const std::string& name, const std::vector<std::string>& known);

}  // namespace paragrad::app
