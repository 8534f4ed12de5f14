#pragma once

#include <string_view>

#include "app/command.hpp"

namespace paragrad::app {

inline constexpr const char* program_name = "paragrad";

/// The command of that name. Throws core::ConfigError.
Command make_command(std::string_view name);

/// The parser of the whole program, with those of all commands below it, grouped by purpose: what --help, the completions of
/// shells and the manual are made of. It parses no more than options of its own: what those of a command would be read into
/// is gone, and CLI11 reads a configuration file for no other parser than the uppermost.
std::shared_ptr<CLI::App> make_program();

/// The first line of a parser's description.
std::string summary_of(const CLI::App& parser);

}  // namespace paragrad::app
