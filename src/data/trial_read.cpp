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
#include <new>
#include <string_view>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "data/hdf5_file.hpp"
#include "data/hdf5_version.hpp"
#include "system/output_file.hpp"

namespace paragrad::data {
namespace {

constexpr std::string_view too_large = "an HDF5 file needs more memory than a file of its size can hold: it is damaged";
constexpr std::size_t longest_reason = 4096;  // bytes, which a pipe holds until they are read

/// Added to both limits: far more than the file at `path` needs.
unsigned seconds_for(const std::string& path) {
  constexpr off_t bytes_per_s = 1'000'000;
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? static_cast<unsigned>(status.st_size / bytes_per_s) : 0;
}

void limit(int resource, rlim_t value) {
  rlimit now{};
  ::getrlimit(resource, &now);
  now.rlim_cur = std::min(now.rlim_cur, value);
  ::setrlimit(resource, &now);
}

/// So that text which refers to the same long text a thousand times cannot fill the memory: what a file may become
/// (compressed arrays 1,100-fold), in addition to what the process has.
void limit_memory(const std::string& path) {
  constexpr rlim_t most_of_a_byte = 1100, overhead = rlim_t{64} << 20;
  struct stat status {};
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  if (pages == 0 || ::stat(path.c_str(), &status) != 0) return;
  limit(RLIMIT_AS, pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) +
                       most_of_a_byte * static_cast<rlim_t>(status.st_size) + overhead);
}

/// The child process. It prints nothing and leaves no core file, as its crash is expected. It sends why it refuses the file.
[[noreturn]] void live(const std::string& path, const TrialLimits& limits, const std::function<void()>& reading,
                       int reasons) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGXCPU, SIGALRM}) std::signal(signal, SIG_DFL);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, limits.processor_s);
  limit_memory(path);
  ::alarm(limits.wall_s);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
  try {
    reading();
  } catch (const core::ConfigError& error) {
    system::write_all(reasons, std::string_view(error.what()).substr(0, longest_reason));
  } catch (const std::bad_alloc&) {
    system::write_all(reasons, too_large);
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
  std::array<int, 2> reasons{};
  if (::pipe2(reasons.data(), O_CLOEXEC) != 0) return;
  const pid_t child = ::fork();
  if (child == 0) live(path, limits, reading, reasons[1]);
  ::close(reasons[1]);
  int status = 0;
  bool ended = child > 0;
  while (ended && ::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) ended = false;  // ECHILD: whoever started this process has children ignored
  std::array<char, longest_reason> reason{};
  const auto length = ended ? ::read(reasons[0], reason.data(), reason.size()) : 0;
  ::close(reasons[0]);
  if (!ended) return;
  if (length > 0) throw core::ConfigError(std::string(reason.data(), static_cast<std::size_t>(length)));
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
