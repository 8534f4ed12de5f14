#pragma once

#include <string>

#include "cli/command.hpp"

namespace paragrad::cli {

/// A shell script that completes commands, options and their values, generated from a program's parser (make_program).
/// For values outside a known set it offers files, or nothing for numbers.
std::string bash_completion(const CLI::App& program);
std::string zsh_completion(const CLI::App& program);

}  // namespace paragrad::cli
