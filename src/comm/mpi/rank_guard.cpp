#include "comm/mpi/rank_guard.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "comm/communicator.hpp"

namespace paragrad::comm {

struct RankGuard::Shared {
  std::atomic<bool> expendable = false;
};

std::unique_ptr<RankGuard> RankGuard::split() {
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Failure("no memory to be shared with the process that guards a rank");
  auto* shared = new (memory) Shared;
  std::fflush(nullptr);  // or both processes would write what is buffered
  const pid_t guard = getpid();
  const pid_t process = fork();
  if (process < 0) throw Failure("a rank cannot start the process that works under its guard");
  if (process > 0) {
    prctl(PR_SET_NAME, "rank guard");  // for who looks at the list of processes
    wait_for(process, *shared);
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != guard) _exit(1);
  return std::unique_ptr<RankGuard>(new RankGuard(shared));
}

RankGuard::~RankGuard() { munmap(shared_, sizeof(Shared)); }

void RankGuard::set_expendable(bool expendable) { shared_->expendable = expendable; }

void RankGuard::wait_for(int process, Shared& shared) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
  const int killer = WTERMSIG(status);
  if (!shared.expendable) {
    constexpr rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    std::signal(killer, SIG_DFL);
    std::raise(killer);
    _exit(128 + killer);
  }
  const char* rank = std::getenv("PMI_RANK");
  std::fprintf(stderr, "worker %s was killed (%s)\n", rank != nullptr ? rank : "?", strsignal(killer));
  take_leave_of_launcher();
  _exit(128 + killer);
}

void take_leave_of_launcher() {
  constexpr char farewell[] = "cmd=finalize\n";
  constexpr int patience_ms = 2000;
  const char* announced = std::getenv("PMI_FD");
  if (announced == nullptr) return;
  const int launcher = std::atoi(announced);
  std::signal(SIGPIPE, SIG_IGN);  // the launcher may be gone, or think that this rank is
  if (write(launcher, farewell, sizeof farewell - 1) < 0) return;
  pollfd answer{launcher, POLLIN, 0};
  char text[64];
  if (poll(&answer, 1, patience_ms) > 0 && read(launcher, text, sizeof text) < 0) return;
}

}  // namespace paragrad::comm
