#pragma once

#include "cli/command.hpp"

namespace paragrad::app {

// The function of each command of commands.def, each in the file of the command.
#define COMMAND(name, function, purpose) cli::Command function();
#include "app/commands.def"
#undef COMMAND

}  // namespace paragrad::app
