#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace paragrad::cli {

/// The words of a command line, such that CLI11 takes no option for the value of another one: where --name has no value, or
/// an empty one (--name=), it takes the next word. Throws ConfigError for an option without a value; of a number an empty
/// one remains, for the option's own error.
std::vector<std::string> words_with_values(const CLI::App& parser, std::span<char*> arguments);

}  // namespace paragrad::cli
