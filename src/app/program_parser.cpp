#include "app/program_parser.hpp"

#include <set>
#include <sstream>

#include "app/commands.hpp"
#include "cli/foreign_words.hpp"
#include "core/build_info.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "runs/environment.hpp"

namespace paragrad::app {
namespace {

struct CommandEntry {
  std::string name;
  cli::Command (*make)();
  const char* purpose;
};

const CommandEntry commands[] = {
#define COMMAND(name, function, purpose) {#name, function, purpose},
#include "app/commands.def"
#undef COMMAND
};

std::string exit_codes() {
  std::string text = "Exit codes:\n";
#define EXIT_CODE(name, number, meaning) text += core::format("  {}  {}\n", number, meaning);
#include "cli/exit_codes.def"
#undef EXIT_CODE
  return text;
}

constexpr const char* environment_variables =
    "Environment:\n"
    "  NO_COLOR     if set, the updating progress line is not shown\n"
    "  TERM=dumb    the same; the line is never shown when the output is not a terminal\n";

/// A command's own commands need its name before theirs.
std::string answer_to_command(std::string_view name, const std::vector<std::string>& known) {
  for (const CommandEntry& entry : commands) {
    const auto parser = entry.make().parser;
    for (const CLI::App* command : parser->get_subcommands({}))
      if (command->get_name() == name) return core::format("here it is {} {}", entry.name, name);
  }
  return cli::foreign_answer("command", name, known);
}

std::string version() {
  const core::Json program = runs::environment().at("program");
  const auto text = [&](const char* key) { return program.at(key).get<std::string>(); };
  std::string added;
  for (const core::AddedSource& source : core::added_sources())
    added += core::format("\nadded     {} (sha256 {})", source.file, source.sha256.substr(0, 12));
  return core::format(
      "{} {} (commit {}{})\n"
      "compiler  {}, {}: {}\n"
      "MPI       {}\n"
      "BLAS      {}\n"
      "CUDA      {}\n"
      "HDF5      {}{}",
      cli::program_name, text("version"), text("commit").substr(0, 12), text("dirty_sha256").empty() ? "" : " with changes",
      text("compiler"), text("build_type"), text("flags"), text("mpi"), text("blas"), text("cuda"), text("hdf5"), added);
}

}  // namespace

cli::Command make_command(std::string_view name) {
  std::vector<std::string> known;
  for (const CommandEntry& entry : commands) {
    if (entry.name == name) return entry.make();
    known.push_back(entry.name);
  }
  const std::string answer = answer_to_command(name, known);
  if (answer.empty()) throw core::unknown_name("command", name, known);
  throw core::ConfigError(core::format("unknown command '{}'; {}", name, answer));
}

std::string default_config() {
  std::string text;
  std::set<std::string> known;
  for (const char* command : {"train", "simulate"}) {
    std::istringstream lines(make_command(command).parser->config_to_str(true));
    for (std::string line; std::getline(lines, line);)
      if (known.insert(line.substr(0, line.find('='))).second) text += line + "\n";
  }
  return text;
}

std::shared_ptr<CLI::App> make_program() {
  auto program =
      cli::make_parser(cli::program_name, "Distributed training of neural networks, on real or emulated workers.");
  program->set_version_flag("--version", version, "print the version, the commit, and the compiler and libraries used");
  for (const CommandEntry& entry : commands) program->add_subcommand(entry.make().parser)->group(entry.purpose);
  program->footer(core::format(
      "'{0} COMMAND --help' lists the options of a command, with examples; '{0} manual' prints the full manual.\n\n{1}\n{2}",
      cli::program_name, exit_codes(), environment_variables));
  return program;
}

int run_program(std::span<char*> arguments) {
  const std::string_view name = arguments.empty() ? "help" : arguments[0];
  if (name.starts_with('-')) return cli::parse(*make_program(), arguments.first(1)).value_or(cli::success);
  const cli::Command command = make_command(name);
  const auto code = cli::parse(*command.parser, arguments.empty() ? arguments : arguments.subspan(1));
  return code ? *code : command.run();
}

}  // namespace paragrad::app
