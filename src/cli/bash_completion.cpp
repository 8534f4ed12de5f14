#include "cli/completion.hpp"
#include "cli/option_values.hpp"
#include "core/format.hpp"
#include "core/join.hpp"

namespace paragrad::cli {
namespace {

constexpr const char* bash_head = R"(# Made by `{0} completion bash`; load it with: source <({0} completion bash)
_{0}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} option=${{COMP_WORDS[COMP_CWORD - 1]}} path=
  # For bash, --option=value is three words.
  [[ $word == = ]] && word=
  [[ $option == = ]] && option=${{COMP_WORDS[COMP_CWORD - 2]}}
  local typed
  for typed in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$path $typed" in
      {1}) path+=" $typed" ;;
    esac
  done
  local names= files=
  case $path in
)";

constexpr const char* bash_tail = R"(  esac
  mapfile -t COMPREPLY < <(compgen -W "$names" -- "$word")
  [[ -n $files && $word != -* ]] || return
  mapfile -t -O ${{#COMPREPLY[@]}} COMPREPLY < <(compgen -f -- "$word")
  compopt -o filenames 2> /dev/null
}}
complete -F _{0} {0}
)";

void add_paths(const CLI::App& parser, const std::string& path, std::vector<std::string>& paths) {
  for (const CLI::App* command : parser.get_subcommands({})) {
    paths.push_back(core::format("\"{} {}\"", path, command->get_name()));
    add_paths(*command, path + " " + command->get_name(), paths);
  }
}

std::string bash_values(const CLI::Option& option) {
  const auto values = known_values(option);
  if (!values.empty()) return core::format("names=\"{}\"", core::join(values, " "));
  return may_be_file(option) ? "files=1" : ":";
}

/// Completions after the commands typed so far: a value of the preceding option, or another option, command or argument.
std::string arm(const CLI::App& parser, const std::string& path) {
  std::string text = core::format("    \"{}\")\n      case $option in\n", path);
  std::vector<std::string> names;
  for (const CLI::Option* option : named_options(parser)) {
    const auto typed = typed_names(*option);
    names.insert(names.end(), typed.begin(), typed.end());
    if (!value_kind(*option).empty())
      text += core::format("        {}) {} ;;\n", core::join(typed, " | "), bash_values(*option));
  }
  bool files = false;
  for (const CLI::App* command : parser.get_subcommands({})) names.push_back(command->get_name());
  for (const CLI::Option* argument : unnamed_arguments(parser)) {
    const auto values = known_values(*argument);
    names.insert(names.end(), values.begin(), values.end());
    files = files || may_be_file(*argument);
  }
  text +=
      core::format("        *) names=\"{}\"{} ;;\n      esac\n      ;;\n", core::join(names, " "), files ? " files=1" : "");
  for (const CLI::App* command : parser.get_subcommands({})) text += arm(*command, path + " " + command->get_name());
  return text;
}

}  // namespace

std::string bash_completion(const CLI::App& program) {
  std::vector<std::string> paths;
  add_paths(program, "", paths);
  return core::format(bash_head, program.get_name(), core::join(paths, " | ")) + arm(program, "") +
         core::format(bash_tail, program.get_name());
}

}  // namespace paragrad::cli
