#include "app/commands.hpp"
#include "app/program_parser.hpp"
#include "cli/completion.hpp"
#include "cli/described_options.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::app {
namespace {

struct Shell {
  const char* name;
  std::string (*script)(const CLI::App&);
};

constexpr Shell shells[] = {{"bash", cli::bash_completion}, {"zsh", cli::zsh_completion}};

std::vector<std::string> shell_names() {
  std::vector<std::string> names;
  for (const Shell& shell : shells) names.push_back(shell.name);
  return names;
}

struct CompletionArguments {
  std::string shell;

  void describe(core::OptionList& list) {
    list.argument("shell", shell, "shell that will load the script").known(shell_names()).required();
  }
};

int print_script(const std::string& name) {
  for (const Shell& shell : shells)
    if (shell.name == name) {
      fmt::print("{}", shell.script(*make_program()));
      return cli::success;
    }
  throw core::unknown_name("shell", name, shell_names());
}

}  // namespace

cli::Command completion_command() {
  auto parser = cli::make_parser("completion",
                                 "Print a shell completion script.\n"
                                 "To load it, add to .bashrc (or, with zsh, .zshrc): source <(paragrad completion bash)");
  auto arguments = std::make_shared<CompletionArguments>();
  cli::add_options(*parser, *arguments);
  cli::set_examples(*parser,
                    "paragrad completion bash > paragrad.bash\n"
                    "paragrad completion zsh > _paragrad");
  return {parser, [arguments] { return print_script(arguments->shell); }};
}

}  // namespace paragrad::app
