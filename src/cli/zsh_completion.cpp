#include "cli/completion.hpp"
#include "cli/option_values.hpp"
#include "core/format.hpp"
#include "core/join.hpp"

namespace paragrad::cli {
namespace {

constexpr const char* zsh_head = R"(#compdef {0}
# Made by `{0} completion zsh`; load it with: source <({0} completion zsh)
# or keep it as _{0} in a folder of $fpath.

)";

constexpr const char* zsh_tail = R"(if [[ $funcstack[1] == _{0} ]]; then
  _{0} "$@"
else
  compdef _{0} {0}
fi
)";

std::string escaped(const std::string& text, const std::string& special) {
  std::string result;
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";  // between single quotes
      continue;
    }
    if (special.find(c) != std::string::npos) result += '\\';
    result += c;
  }
  return result;
}

/// The ":message:action" part for zsh's _arguments.
std::string zsh_values(const CLI::Option& option) {
  const auto values = known_values(option);
  if (!values.empty()) return core::format(":{}:({})", value_kind(option), core::join(values, " "));
  return core::format(":{}:{}", value_kind(option), may_be_file(option) ? "_files" : " ");
}

std::string argument_lines(const CLI::App& parser) {
  std::string text;
  for (const CLI::Option* option : named_options(parser))
    for (const std::string& name : typed_names(*option)) {
      const bool flag = value_kind(*option).empty();
      text += core::format(" \\\n    '{}{}[{}]{}'", name, flag ? "" : "=", escaped(option->get_description(), "[]:\\"),
                           flag ? "" : zsh_values(*option));
    }
  for (const CLI::Option* argument : unnamed_arguments(parser))
    text += core::format(" \\\n    '*{}'", zsh_values(*argument));
  return text;
}

constexpr const char* function_with_commands = R"({0}() {{
  local curcontext=$curcontext state line
  local -a commands=(
{2}  )
  _arguments -C{1} \
    '1:command:->command' \
    '*::argument:->argument'
  case $state in
    command) _describe command commands ;;
    argument)
      case $line[1] in
{3}      esac
      ;;
  esac
}}

)";

/// A function for the parser, and one for each subcommand.
std::string functions(const CLI::App& parser, const std::string& name) {
  const auto commands = parser.get_subcommands({});
  if (commands.empty()) return core::format("{}() {{\n  _arguments{}\n}}\n\n", name, argument_lines(parser));
  std::string below, described, called;
  for (const CLI::App* command : commands) {
    const std::string function = name + "_" + command->get_name();
    below += functions(*command, function);
    described += core::format("    '{}:{}'\n", command->get_name(), escaped(summary_of(*command), ":\\"));
    called += core::format("        {}) {} ;;\n", command->get_name(), function);
  }
  return below + core::format(function_with_commands, name, argument_lines(parser), described, called);
}

}  // namespace

std::string zsh_completion(const CLI::App& program) {
  const std::string& name = program.get_name();
  return core::format(zsh_head, name) + functions(program, "_" + name) + core::format(zsh_tail, name);
}

}  // namespace paragrad::cli
