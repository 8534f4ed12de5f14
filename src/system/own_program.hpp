#pragma once

#include <string>

namespace paragrad::system {

/// The path of the program that a command starts again: that of this process, unless set_own_program() named another.
/// Throws ConfigError if there is none.
std::string own_program();

/// For a process that is not the program itself. path: "" if the program is not there.
void set_own_program(std::string path);

}  // namespace paragrad::system
