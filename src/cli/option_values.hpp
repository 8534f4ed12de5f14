#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace paragrad::cli {

/// The names as typed: "--out", "-h". Empty for a positional argument.
std::vector<std::string> typed_names(const CLI::Option& option);

/// A parser's named options, and its positional arguments.
std::vector<const CLI::Option*> named_options(const CLI::App& parser);
std::vector<const CLI::Option*> unnamed_arguments(const CLI::App& parser);

/// The kind of value that an option takes, without its limits: "TEXT", "INT". Empty for a flag.
std::string value_kind(const CLI::Option& option);

/// An option's known values (others may be valid too); empty if it takes any text.
std::vector<std::string> known_values(const CLI::Option& option);

/// Whether the value may be a file name.
bool may_be_file(const CLI::Option& option);

/// The bytes in "100kB". Throws ConfigError with the option's name, "--bytes", if it is no size or outside the limits.
double parse_size(const std::string& name, const std::string& text, double least, double most);

}  // namespace paragrad::cli
