#include "data/trial_read.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "data/hdf5_file.hpp"
#include "data/hdf5_version.hpp"

namespace paragrad::data {
namespace {

/// Added to both limits: far more than the file at `path` needs.
unsigned seconds_for(const std::string& path) {
  constexpr off_t bytes_per_s = 1'000'000;
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? static_cast<unsigned>(status.st_size / bytes_per_s) : 0;
}

void limit(int resource, rlim_t value) {
  rlimit now{};
  ::getrlimit(resource, &now);
  now.rlim_cur = std::min(now.rlim_max, value);
  ::setrlimit(resource, &now);
}

/// The child process. It prints nothing and leaves no core file, as its crash is expected.
[[noreturn]] void live(const TrialLimits& limits, const std::function<void()>& reading) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGXCPU, SIGALRM}) std::signal(signal, SIG_DFL);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, limits.processor_s);
  ::alarm(limits.wall_s);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
  try {
    reading();
  } catch (...) {  // happens again, to the caller
  }
  ::_exit(0);  // nothing of the caller's is flushed or closed a second time
}

}  // namespace

// The superblock begins with a signature and its version, which is 3 in the format of 1.10. Its own checksum covers both.
bool has_checksums(const std::string& path) {
  constexpr std::string_view signature = "\x89HDF\r\n\x1a\n";
  if (!std::filesystem::is_regular_file(path)) return false;  // a pipe would be waited for
  std::array<char, 9> begin{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(begin.data(), begin.size()) || std::string_view(begin.data(), signature.size()) != signature ||
      static_cast<unsigned char>(begin.back()) < 3)
    return false;
  try {
    return Hdf5File::open(path).has_checksums();
  } catch (const core::ConfigError&) {
    return false;
  }
}

void try_reading(const std::string& path, const std::function<void()>& reading, TrialLimits limits) {
  const unsigned more_s = seconds_for(path);
  limits.processor_s += more_s;
  limits.wall_s += more_s;
  const pid_t child = ::fork();
  if (child < 0) return;
  if (child == 0) live(limits, reading);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return;  // ECHILD: whoever started this process has children ignored
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (signal == SIGALRM)
    throw core::ConfigError(
        core::format("cannot read '{}': HDF5 had read it for {} s without an end; it may refer to something that never "
                     "comes, such as a pipe",
                     path, limits.wall_s));
  if (signal == SIGKILL)
    throw core::ConfigError(core::format(
        "cannot read '{}': the process reading it was killed; the file may be too large for the free memory", path));
  throw core::ConfigError(core::format("'{}' is damaged: HDF5 {} {} while reading it ({}); use an intact copy of the file",
                                       path, hdf5_version(), signal == SIGXCPU ? "does not terminate" : "crashes",
                                       signal == 0 ? "a sanitizer's report" : ::strsignal(signal)));
}

}  // namespace paragrad::data
