#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/option_use.hpp"
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

/// The members of `now` whose values are not those of `before`.
std::vector<core::OptionInfo> changed_options(const core::OptionList& now, const core::OptionList& before);

/// Those of the arguments that do not have their default values: what another process has to be given for the same ones.
template <class Arguments>
std::vector<core::OptionInfo> given_in(Arguments arguments) {
  Arguments untouched;
  core::OptionList now, before;
  arguments.describe(now);
  untouched.describe(before);
  return changed_options(now, before);
}

/// "--seed=2"; of a positional argument its value alone. Throws std::logic_error for an argument of several words.
std::string word_of(const core::OptionInfo& option);

struct CommandText {
  std::string name;
  std::string description;  ///< the first line is what lists of commands show
  std::string examples;     ///< see set_examples
  bool reads_config = false;
};

/// A command with the options that the arguments describe. An option that was given without effect is refused before
/// run(arguments, parser), which returns the exit code.
template <class Arguments, class Run>
Command command_of(const CommandText& text, Run run) {
  auto arguments = std::make_shared<Arguments>();
  auto parser = make_parser(text.name, text.description);
  if (text.reads_config) accept_config_file(*parser);
  add_options(*parser, *arguments);
  set_examples(*parser, text.examples);
  return {parser, [run, arguments, parser]() -> int {
            use_of(*parser, *arguments).check();
            return run(*arguments, *parser);
          }};
}

}  // namespace paragrad::cli
