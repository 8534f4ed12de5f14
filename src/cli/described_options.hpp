#pragma once

#include "cli/command.hpp"
#include "core/options.hpp"

namespace paragrad::cli {

/// "UINT:0 to 1024", "TEXT:{truncate,norm}"
std::string type_of(const core::OptionInfo& info);

/// Adds the options that a list describes. What it sets must exist when the parser runs.
void add_options(CLI::App& parser, const core::OptionList& list);

/// Those that the arguments describe.
template <class Arguments>
requires requires(Arguments& arguments, core::OptionList& list) { arguments.describe(list); }
void add_options(CLI::App& parser, Arguments& arguments) {
  core::OptionList list;
  arguments.describe(list);
  add_options(parser, list);
}

}  // namespace paragrad::cli
