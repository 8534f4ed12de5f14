#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paragrad::app {

/// Exit codes of the program.
enum ExitCode : int {
#define EXIT_CODE(name, number, meaning) name = (number),
#include "app/exit_codes.def"
#undef EXIT_CODE
};

/// A command of the program: its options, and what it does once they are read. That returns the exit code.
struct Command {
  std::shared_ptr<CLI::App> parser;
  std::function<int()> run;
};

#define COMMAND(name, function, purpose) Command function();
#include "app/commands.def"
#undef COMMAND

/// An option parser in the house's manner: flat keys, the same on the command line and in the file given by --config;
/// unknown keys are errors; --help shows the defaults. The first line of the description stands in lists of commands.
std::shared_ptr<CLI::App> make_parser(const std::string& name, const std::string& description);

/// Adds --config FILE to a parser.
void accept_config_file(CLI::App& parser);

/// Shows commands of a shell below the options, as they would be typed. The tests run them, in the order of commands.def.
void set_examples(CLI::App& parser, const std::string& commands);

/// Shows the names that an option knows, to whoever reads --help and to shells. It refuses nothing: who takes the name does,
/// and may take more (a parameter behind it).
CLI::Validator known_names(const std::vector<std::string>& names);

/// Parses arguments[0…]. Returns nothing, or the exit code if the program is to end now (help was asked for).
/// Throws core::ConfigError for what the user got wrong.
std::optional<int> parse(CLI::App& parser, std::span<char*> arguments);

/// What a path is refused for, by the system: its name is too long, it may not be read, …
std::string complaint(const std::filesystem::filesystem_error& error);

/// One line on stderr, whatever the files and arguments hold that it quotes.
void print_error(std::string_view message);

}  // namespace paragrad::app
