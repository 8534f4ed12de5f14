#include "comm/mpi/rank_guard.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <string>
#include <utility>

#include "comm/communicator.hpp"
#include "comm/mpi/mpi_session.hpp"
#include "core/format.hpp"

namespace paragrad::comm {
namespace {

constexpr int stop_look_every_ms = 100;

std::string name_of_signal(int number) {
  constexpr std::array names{std::pair{SIGKILL, "SIGKILL"}, std::pair{SIGSEGV, "SIGSEGV"}, std::pair{SIGABRT, "SIGABRT"},
                             std::pair{SIGBUS, "SIGBUS"},   std::pair{SIGTERM, "SIGTERM"}, std::pair{SIGINT, "SIGINT"},
                             std::pair{SIGFPE, "SIGFPE"},   std::pair{SIGILL, "SIGILL"},   std::pair{SIGHUP, "SIGHUP"},
                             std::pair{SIGXCPU, "SIGXCPU"}, std::pair{SIGXFSZ, "SIGXFSZ"}};
  const auto* found = std::ranges::find(names, number, [](const auto& entry) { return entry.first; });
  return found != names.end() ? found->second : "signal " + std::to_string(number);
}

std::string name_of_rank() {
  const char* rank = std::getenv("PMI_RANK");
  return rank != nullptr ? rank : "?";
}

/// Sends one line of the launcher's protocol. False: it cannot be sent.
bool tell_launcher(const std::string& line) {
  const char* announced = std::getenv("PMI_FD");
  if (announced == nullptr) return false;
  std::signal(SIGPIPE, SIG_IGN);  // the launcher may be gone, or may consider this rank gone
  return write(std::atoi(announced), line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

// Returns if the launcher cannot be notified.
void abort_through_launcher(int code) {
  constexpr int forwarding_ms = 20;  // Hydra forwards no output after it receives an abort
  constexpr int ending_ms = 5000;
  poll(nullptr, 0, forwarding_ms);
  if (!tell_launcher(core::format("cmd=abort exitcode={}\n", code))) return;
  poll(nullptr, 0, ending_ms);  // during which it ends this process, too
  _exit(code);
}

}  // namespace

struct RankGuard::Shared {
  std::atomic<Death> death = Death::ends_run;
};

/// The guard's work.
class RankGuard::Watch {
 public:
  Watch(pid_t process, const GuardOptions& options, const Shared& shared)
      : process_(process), options_(options), shared_(shared) {}

  [[noreturn]] void run() {
    prctl(PR_SET_NAME, "rank guard");  // shown in process lists
    const int status = wait_for_end();
    if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
    const Death death = shared_.death;
    const int killer = WTERMSIG(status);
    constexpr int abort_ms = 200;
    if (killer == SIGABRT)
      poll(nullptr, 0,
           abort_ms);  // UCX aborted over another rank's death: that rank's guard is about to report it and end all
    tell_of(killer, death);
    if (death == Death::is_survived) {
      take_leave_of_launcher();
      _exit(0);
    }
    const int code = death == Death::is_late ? 0 : options_.end_code;
    abort_through_launcher(code);
    if (code != 0) die_of(killer);
    _exit(0);
  }

 private:
  int wait_for_end() {
    int status = 0;
    while (true) {
      if (waitpid(process_, &status, WUNTRACED) < 0 && errno == EINTR) continue;
      if (!WIFSTOPPED(status)) return status;
      wait_while_stopped();
    }
  }

  // Time in which the guard itself is stopped, as in a suspended job, does not count.
  void wait_while_stopped() {
    int status = 0;
    for (int stopped_ms = 0;; stopped_ms += stop_look_every_ms) {
      siginfo_t change{};
      constexpr int any_change = WEXITED | WCONTINUED;
      if (waitid(P_PID, static_cast<id_t>(process_), &change, any_change | WNOHANG | WNOWAIT) == 0 && change.si_pid != 0) {
        if (change.si_code == CLD_CONTINUED) waitpid(process_, &status, WCONTINUED);
        return;
      }
      if (shared_.death == Death::is_survived && stopped_ms >= 1000 * options_.stop_limit_s) {
        stopped_s_ = stopped_ms / 1000.;
        kill(process_, SIGKILL);
        return;
      }
      poll(nullptr, 0, stop_look_every_ms);
    }
  }

  void tell_of(int killer, Death death) const {
    std::string line = core::format("rank {} was killed ({})", name_of_rank(), name_of_signal(killer));
    if (stopped_s_ > 0) line += core::format(" after it had been stopped for {:.0f} s", stopped_s_);
    if (death == Death::ends_run && !options_.advice.empty()) line += "; " + options_.advice;
    std::fprintf(stderr, "%s\n", line.c_str());
  }

  // Dies of the same signal, so that the launcher sees it.
  static void die_of(int killer) {
    constexpr rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    std::signal(killer, SIG_DFL);
    std::raise(killer);
    _exit(128 + killer);
  }

  pid_t process_;
  const GuardOptions& options_;
  const Shared& shared_;
  double stopped_s_ = 0;  // before the guard killed it
};

// Launchers other than Hydra announce PMI_FD too, but for PMI-2, which has different messages.
bool RankGuard::launcher_listens() { return std::getenv("PMI_FD") != nullptr && std::getenv("HYDI_CONTROL_FD") != nullptr; }

// "TracerPid:\t0" if not traced.
bool RankGuard::is_traced() {
  std::ifstream status("/proc/self/status");
  for (std::string name; status >> name;)
    if (int tracer = 0; name == "TracerPid:") return status >> tracer && tracer != 0;
  return false;
}

std::unique_ptr<RankGuard> RankGuard::split(const GuardOptions& options) {
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Failure("cannot allocate the memory shared with the rank guard");
  auto* shared = new (memory) Shared;
  std::fflush(nullptr);  // or both processes would write what is buffered
  const pid_t guard = getpid();
  const pid_t process = fork();
  if (process < 0) throw Failure("cannot start the process that works under the rank guard");
  if (process > 0) Watch(process, options, *shared).run();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != guard) _exit(1);
  return std::unique_ptr<RankGuard>(new RankGuard(shared));
}

RankGuard::~RankGuard() { munmap(shared_, sizeof(Shared)); }

void RankGuard::set_death(Death death) { shared_->death = death; }

void end_waiting_peers(int code) {
  if (announced_ranks() > 1 && RankGuard::launcher_listens()) abort_through_launcher(code);
}

void take_leave_of_launcher() {
  constexpr int timeout_ms = 2000;
  if (!tell_launcher("cmd=finalize\n")) return;
  const int launcher = std::atoi(std::getenv("PMI_FD"));
  pollfd answer{launcher, POLLIN, 0};
  char text[64];
  if (poll(&answer, 1, timeout_ms) > 0 && read(launcher, text, sizeof text) < 0) return;
}

}  // namespace paragrad::comm
