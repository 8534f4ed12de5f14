#include "app/python_figure.hpp"

#include <cstdlib>
#include <filesystem>

#include "core/build_info.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "system/child_process.hpp"
#include "system/own_program.hpp"

namespace paragrad::app {
namespace {

namespace fs = std::filesystem;

/// The folder of the Python package: the installed program's, or that of the source.
std::string package_folder(const std::string& module) {
  const fs::path installed = fs::path(system::own_program()).parent_path().parent_path() / "share/paragrad/python";
  const fs::path source = core::build_info().python;
  for (const fs::path& folder : {installed, source})
    if (fs::exists(folder / "paragrad" / (module + ".py"))) return folder;
  throw core::ConfigError(
      core::format("the Python package that draws is neither in {} nor in {}: install Paragrad with cmake --install",
                   installed.string(), source.string()));
}

/// The first Python that has matplotlib: that of the PATH, or the system's own, which alone sees the system's packages.
std::string python_with_matplotlib() {
  const std::string probe =
      "import sys; from importlib.util import find_spec; "
      "sys.exit(sys.version_info < (3, 11) or not find_spec('matplotlib'))";
  for (const std::string python : {"python3", "/usr/bin/python3"})
    if (system::ChildProcess({python, "-c", probe}, "/dev/null").wait() == 0) return python;
  throw core::ConfigError("figures need matplotlib in Python 3.11 or newer, and none was found: install python3-matplotlib");
}

}  // namespace

int draw_in_python(const std::string& module, const std::vector<std::string>& arguments) {
  const char* others = std::getenv("PYTHONPATH");
  const std::string path = package_folder(module) + (others && *others ? core::format(":{}", others) : "");
  std::vector<std::string> command{"/usr/bin/env", "PYTHONPATH=" + path, python_with_matplotlib(), "-P",
                                   "-m",           "paragrad." + module};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return system::ChildProcess(command, "").wait();
}

}  // namespace paragrad::app
