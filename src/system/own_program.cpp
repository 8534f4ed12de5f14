#include "system/own_program.hpp"

#include <filesystem>
#include <optional>
#include <utility>

#include "core/errors.hpp"

namespace paragrad::system {
namespace {

std::optional<std::string> named_program;

}  // namespace

std::string own_program() {
  if (!named_program) return std::filesystem::read_symlink("/proc/self/exe");
  if (named_program->empty())
    throw core::ConfigError(
        "this command starts the program paragrad, which was neither installed nor built with the Python package: "
        "run make python, or install the package with pip");
  return *named_program;
}

void set_own_program(std::string path) { named_program = std::move(path); }

}  // namespace paragrad::system
