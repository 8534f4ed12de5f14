#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paragrad::cli {

inline constexpr const char* program_name = "paragrad";

/// Exit codes of the program.
enum ExitCode : int {
#define EXIT_CODE(name, number, meaning) name = (number),
#include "cli/exit_codes.def"
#undef EXIT_CODE
};

/// A command of the program: its options, and the function to run once they are read, which returns the exit code.
struct Command {
  std::shared_ptr<CLI::App> parser;
  std::function<int()> run;

  /// Where the command has one: throws ConfigError, and reads no data, if the options that were read cannot be combined.
  std::function<void()> check{};
};

/// An option parser with this program's conventions: flat keys, the same on the command line and in the --config file;
/// unknown keys are errors; --help shows the defaults. Lists of commands show the first line of the description.
std::shared_ptr<CLI::App> make_parser(const std::string& name, const std::string& description);

/// The first line of a parser's description.
std::string summary_of(const CLI::App& parser);

/// Adds --config FILE to a parser.
void accept_config_file(CLI::App& parser);

/// Shows shell commands below the options as examples. The tests run them, in the order of commands.def.
void set_examples(CLI::App& parser, const std::string& commands);

/// Parses `arguments`. Returns nothing, or the exit code if the program should end now (help was requested).
/// Throws core::ConfigError for user errors.
std::optional<int> parse(CLI::App& parser, std::span<char*> arguments);

/// A library's message with the options, which it names in backquotes, as flags.
std::string with_flags(const std::string& message);

/// Prints one line on stderr, whatever characters the quoted files and arguments contain.
void print_error(std::string_view message);

}  // namespace paragrad::cli
