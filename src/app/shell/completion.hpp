#pragma once

#include <string>

#include "app/command.hpp"

namespace paragrad::app {

/// A script for a shell that completes commands, options and their values, made of a program's parser (make_program).
/// Where a value is none of a known set, files are offered, or nothing for a number.
std::string bash_completion(const CLI::App& program);
std::string zsh_completion(const CLI::App& program);

}  // namespace paragrad::app
