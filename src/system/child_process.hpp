#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace paragrad::system {

/// A program running in a process group of its own. Killed when this object goes, and when this process dies in whatever
/// way.
class ChildProcess {
 public:
  /// Starts `command`, whose output is written to the file `log`; without one, to where this process writes. Throws
  /// ConfigError.
  ChildProcess(const std::vector<std::string>& command, const std::string& log);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept : process_(std::exchange(other.process_, -1)) {}
  ChildProcess& operator=(ChildProcess&&) = delete;

  /// The exit code once it has ended, or 128 plus the signal that killed it. Nothing while it runs.
  std::optional<int> exit_code();

  /// Waits until it has ended; its exit code.
  int wait();

  /// Ends it and waits: asks first, so that mpiexec ends its ranks, and kills what has not ended after 5 s.
  void end();

 private:
  int exit_code_of(int status);

  pid_t process_ = -1;
};

}  // namespace paragrad::system
