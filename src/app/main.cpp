#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>

#include "app/command.hpp"
#include "comm/communicator.hpp"
#include "core/build_info.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace {

using namespace paragrad;

struct Command {
  std::string name;
  int (*run)(std::span<char*>);
  const char* description;
};

const Command commands[] = {
#define COMMAND(name, function, description) {#name, app::function, description},
#include "app/commands.def"
#undef COMMAND
};

int help() {
  fmt::print(
      "Paragrad {}: distributed training of neural networks, real or emulated\n\nUsage: paragrad COMMAND [OPTIONS]\n\n",
      core::build_info().version);
  for (const Command& command : commands) fmt::print("  {:<11} {}\n", command.name, command.description);
  fmt::print("\n'paragrad COMMAND --help' lists the options of a command.\n");
  return app::success;
}

int version() {
  const core::BuildInfo build = core::build_info();
  fmt::print("paragrad {} (commit {}{}, {}, {})\n", build.version, build.commit.substr(0, 12),
             build.dirty_sha256.empty() ? "" : " with changes", build.compiler, build.build_type);
  return app::success;
}

int run(std::span<char*> arguments) {
  if (arguments.empty()) return help();
  const std::string name = arguments[0];
  if (name == "--help" || name == "-h" || name == "help") return help();
  if (name == "--version") return version();
  for (const Command& command : commands)
    if (command.name == name) return command.run(arguments.subspan(1));
  std::vector<std::string> known;
  for (const Command& command : commands) known.push_back(command.name);
  throw core::unknown_name("command", name, known);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, static_cast<std::size_t>(std::max(argc - 1, 0))});
  } catch (const core::ConfigError& error) {
    fmt::print(stderr, "paragrad: {}\n", error.what());
    return app::user_error;
  } catch (const comm::Failure& error) {  // an emulated one; under MPI the rank has handled its own
    fmt::print(stderr, "paragrad: {}\n", error.what());
    return app::peer_failure;
  } catch (const std::exception& error) {
    fmt::print(stderr, "paragrad: internal error: {}\n", error.what());
    return app::internal_error;
  }
}
