#pragma once

#include <string>
#include <vector>

#include "app/command.hpp"

namespace paragrad::app {

/// "--out", "-h": as it is typed. Empty for an argument without a name.
std::vector<std::string> typed_names(const CLI::Option& option);

/// Those of a parser that have a name, or have none.
std::vector<const CLI::Option*> named_options(const CLI::App& parser);
std::vector<const CLI::Option*> unnamed_arguments(const CLI::App& parser);

/// "TEXT", "INT": what kind of value an option takes, without its limits. Empty for a flag.
std::string value_kind(const CLI::Option& option);

/// The names that an option knows, of which its value is one as a rule; empty where it is any.
std::vector<std::string> known_values(const CLI::Option& option);

/// Whether the value may be a file's name.
bool may_be_file(const CLI::Option& option);

}  // namespace paragrad::app
