#include "data/trial_read.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "data/hdf5_version.hpp"

namespace paragrad::data {
namespace {

/// Far more than any file needs; only an infinite loop reaches it.
rlim_t processor_seconds_for(const std::string& path, unsigned timeout_s) {
  constexpr rlim_t bytes_per_s = 1'000'000;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return timeout_s;
  return timeout_s + static_cast<rlim_t>(status.st_size) / bytes_per_s;
}

void limit(int resource, rlim_t value) {
  rlimit now{};
  ::getrlimit(resource, &now);
  now.rlim_cur = std::min(now.rlim_max, value);
  ::setrlimit(resource, &now);
}

/// The child process. It prints nothing and leaves no core file, as its crash is expected.
[[noreturn]] void live(rlim_t processor_seconds, const std::function<void()>& reading) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGXCPU}) std::signal(signal, SIG_DFL);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, processor_seconds);
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

void try_reading(const std::string& path, const std::function<void()>& reading, unsigned timeout_s) {
  const pid_t child = ::fork();
  if (child < 0) return;
  if (child == 0) live(processor_seconds_for(path, timeout_s), reading);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return;  // ECHILD: whoever started this process has children ignored
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (signal == SIGKILL)
    throw core::ConfigError(core::format(
        "cannot read '{}': the process reading it was killed; the file may be too large for the free memory", path));
  throw core::ConfigError(core::format("'{}' is damaged: HDF5 {} {} while reading it ({}); use an intact copy of the file",
                                       path, hdf5_version(), signal == SIGXCPU ? "does not terminate" : "crashes",
                                       signal == 0 ? "a sanitizer's report" : ::strsignal(signal)));
}

}  // namespace paragrad::data
