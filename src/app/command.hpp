#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace paragrad::app {

/// Exit codes of the program.
enum ExitCode : int {
  success = 0,
  internal_error = 1,
  user_error = 2,    ///< one sentence on stderr says what to change
  peer_failure = 3,  ///< another worker or the transport is gone
};

#define COMMAND(name, function, description) int function(std::span<char*> arguments);
#include "app/commands.def"
#undef COMMAND

/// An option parser in the house's manner: flat keys, the same on the command line and in the file given by --config;
/// unknown keys are errors; --help shows the defaults. `name` is what the user typed, "paragrad train".
std::unique_ptr<CLI::App> make_parser(const std::string& name, const std::string& description);

/// Adds --config FILE to a parser.
void accept_config_file(CLI::App& parser);

/// Parses arguments[0…]. Returns nothing, or the exit code if the program is to end now (help was asked for).
/// Throws core::ConfigError for what the user got wrong.
std::optional<int> parse(CLI::App& parser, std::span<char*> arguments);

}  // namespace paragrad::app
