#include "speech/synthesis/process_farm.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::speech {
namespace {

constexpr int pipe_bytes = 1 << 20;  // the most that an unprivileged process may request

enum class Outcome : std::uint64_t { made, user_error, other_error };

/// Header of each result or error text.
struct Header {
  Outcome outcome = Outcome::made;
  std::uint64_t bytes = 0;
};

bool write_all(int descriptor, const void* data, std::size_t bytes) {
  const auto* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(descriptor, at, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return true;
}

bool read_all(int descriptor, void* data, std::size_t bytes) {
  auto* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = ::read(descriptor, at, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool send(int descriptor, Outcome outcome, std::string_view text) {
  const Header header{outcome, text.size()};
  return write_all(descriptor, &header, sizeof header) && write_all(descriptor, text.data(), text.size());
}

/// Runs a child until the reader is gone or an error occurs.
void work(int descriptor, std::uint64_t first, std::uint64_t step, const std::function<std::string(std::uint64_t)>& make) {
  try {
    for (std::uint64_t i = first; send(descriptor, Outcome::made, make(i));) i += step;
  } catch (const core::ConfigError& error) {
    send(descriptor, Outcome::user_error, error.what());
  } catch (const std::exception& error) {
    send(descriptor, Outcome::other_error, error.what());
  }
}

class Child {
 public:
  Child(std::uint64_t first, std::uint64_t step, const std::function<std::string(std::uint64_t)>& make) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("open a pipe");
    ::fcntl(ends[1], F_SETPIPE_SZ, pipe_bytes);  // works with a smaller pipe, too
    process_ = ::fork();
    if (process_ == 0) {
      ::signal(SIGPIPE, SIG_IGN);
      ::close(ends[0]);
      work(ends[1], first, step, make);
      ::_exit(0);  // do not flush or close the parent's resources a second time
    }
    ::close(ends[1]);
    if (process_ < 0) {
      ::close(ends[0]);
      fail("start a process");
    }
    descriptor_ = ends[0];
  }
  ~Child() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    wait();
  }
  Child(Child&& other) noexcept
      : process_(std::exchange(other.process_, -1)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  Child& operator=(Child&&) = delete;

  void receive(std::string& result) {
    Header header;
    bool whole = read_all(descriptor_, &header, sizeof header);
    if (whole) {
      result.resize(header.bytes);
      whole = read_all(descriptor_, result.data(), result.size());
    }
    if (!whole) throw core::ConfigError(core::format("a process generating part of the data {}; try again", epitaph()));
    if (header.outcome == Outcome::user_error) throw core::ConfigError(result);
    if (header.outcome == Outcome::other_error) throw std::runtime_error(result);
  }

 private:
  [[noreturn]] static void fail(const char* what) {
    throw core::ConfigError(core::format("cannot {}: {}; use fewer jobs", what, std::strerror(errno)));
  }

  int wait() {
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
    return status;
  }

  std::string epitaph() {
    const int status = wait();
    return WIFSIGNALED(status) ? core::format("was killed by signal {}", WTERMSIG(status))
                               : core::format("exited with status {}", WEXITSTATUS(status));
  }

  pid_t process_ = -1;
  int descriptor_ = -1;
};

}  // namespace

void in_processes(std::size_t jobs, const std::function<std::string(std::uint64_t)>& make,
                  const std::function<bool(std::string_view)>& take) {
  if (jobs == 0) throw core::ConfigError("at least one job is needed");
  std::vector<Child> children;
  for (std::size_t k = 0; k < jobs; ++k) children.emplace_back(k, jobs, make);
  std::string result;
  for (std::uint64_t i = 0;; ++i) {
    children[i % jobs].receive(result);
    if (!take(result)) return;
  }
}

}  // namespace paragrad::speech
