#pragma once

#include <span>
#include <string_view>

#include "cli/command.hpp"

namespace paragrad::app {

/// The command of that name. Throws core::ConfigError.
cli::Command make_command(std::string_view name);

/// The options of train and simulate that nobody gives, as a run's config.toml holds them, in their order.
std::string default_config();

/// The parser of the whole program, with all commands as subcommands grouped by purpose. It generates --help, the shell
/// completions and the manual. It parses only the program's own options: the variables behind a command's options no longer
/// exist, and CLI11 reads a configuration file for the top-level parser only.
std::shared_ptr<CLI::App> make_program();

/// Runs the command that the first argument names, with the others as its options. Returns the exit code. Throws what ends
/// the program with a message (see main.cpp).
int run_program(std::span<char*> arguments);

}  // namespace paragrad::app
