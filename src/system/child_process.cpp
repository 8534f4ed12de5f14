#include "system/child_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "system/output_file.hpp"

namespace paragrad::system {
namespace {

using namespace std::chrono_literals;

/// Holds back the signals that end a program: between fork() and exec() a child has its parent's handlers.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t ending;
    ::sigemptyset(&ending);
    ::sigaddset(&ending, SIGINT);
    ::sigaddset(&ending, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &ending, &before_);
  }
  ~SignalsHeld() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld&) = delete;

  /// In the child: a signal that has come ends it now, unless it is ignored.
  void let_them_end_this() const {
    for (const int number : {SIGINT, SIGTERM}) {
      struct sigaction action {};
      ::sigaction(number, nullptr, &action);
      if (action.sa_handler != SIG_IGN) ::signal(number, SIG_DFL);
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t before_;
};

[[noreturn]] void become(const std::vector<std::string>& command, int log, pid_t parent, const SignalsHeld& held) {
  held.let_them_end_this();
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);  // it died before the call above
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(log >= 0 ? log : ::fileno(stdout), STDOUT_FILENO);  // which differ where the Python module collects what is printed
  if (log >= 0) ::dup2(log, STDERR_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  ::dprintf(STDERR_FILENO, "cannot start '%s': %s\n", arguments[0], std::strerror(errno));
  ::_exit(127);
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command, const std::string& log) {
  system::OutputFile file;
  if (!log.empty()) file = system::OutputFile(log, system::OutputFile::Begin::empty);
  const pid_t parent = ::getpid();
  std::fflush(stdout);
  const SignalsHeld held;
  process_ = ::fork();
  if (process_ == 0) become(command, file.descriptor(), parent, held);
  const int error = errno;
  if (process_ < 0)
    throw core::ConfigError(core::format("cannot start a process: {}; run fewer at a time", std::strerror(error)));
  ::setpgid(process_, process_);  // whichever of the two comes first
}

ChildProcess::~ChildProcess() { end(); }

std::optional<int> ChildProcess::exit_code() {
  int status = 0;
  const pid_t ended = ::waitpid(process_, &status, WNOHANG);
  if (ended != process_) return std::nullopt;
  return exit_code_of(status);
}

int ChildProcess::wait() {
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0)
    if (errno != EINTR) throw std::logic_error("a child process was waited for twice");
  return exit_code_of(status);
}

int ChildProcess::exit_code_of(int status) {
  process_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void ChildProcess::end() {
  if (process_ <= 0) return;
  const pid_t group = process_;
  ::kill(-group, SIGTERM);
  const auto give_up = std::chrono::steady_clock::now() + 5s;
  while (!exit_code() && std::chrono::steady_clock::now() < give_up) std::this_thread::sleep_for(5ms);
  ::kill(-group, SIGKILL);
  while (process_ > 0 && !exit_code()) std::this_thread::sleep_for(5ms);
}

}  // namespace paragrad::system
