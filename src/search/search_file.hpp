#pragma once

#include <string>

#include "cli/command.hpp"
#include "search/methods.hpp"

namespace paragrad::search {

/// The file of a search: options of all runs and, for each method to compare, [[run]] with its own. What a method has itself
/// counts, not what all runs have. `name` is the method's name; without it, its own options are
/// that vary in no method.
///
/// runs: the command that each run executes. Throws ConfigError, with file and line, for options that it does not have, or
/// that the search sets.
Methods read_methods(const std::string& file, const cli::Command& runs);

}  // namespace paragrad::search
