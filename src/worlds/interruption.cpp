#include "worlds/interruption.hpp"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "comm/mpi/mpi_session.hpp"
#include "core/format.hpp"
#include "core/printable.hpp"

namespace paragrad::worlds {
namespace {

volatile std::sig_atomic_t interrupted = 0;

std::atomic<const char*> notice = nullptr;

constexpr const char* told_above = "PARAGRAD_TOLD_ABOVE";  // an environment variable of the programs that are started

std::atomic<bool> is_rank = false;

/// Calls only what a handler may call. A rank without a notice ends a little later: launchers kill all when one has ended.
void print_notice_and_end(int signal) {
  constexpr int printing_ms = 200;
  const char* const text = notice.load();
  if (text != nullptr && ::write(STDERR_FILENO, text, std::strlen(text)) < 0) ::_exit(128 + signal);
  if (text == nullptr && is_rank) ::poll(nullptr, 0, printing_ms);
  ::raise(signal);  // whose action is the default one again
}

}  // namespace

void interrupt() noexcept { interrupted = 1; }
void forget_interruption() noexcept { interrupted = 0; }

void check_interruption() {
  if (interrupted != 0) throw Interrupted();
}

void set_interruption_notice(const std::string& sentence) {
  static std::array<std::string, 2> texts;  // a handler may be reading the one before
  static std::size_t last = 0;
  last = 1 - last;
  const char* const on_a_terminal = ::isatty(STDERR_FILENO) ? "\n" : "";  // where ^C and a line of progress may stand
  texts[last] = sentence.empty() ? "" : core::format("{}paragrad: {}\n", on_a_terminal, core::printable_message(sentence));
  notice = texts[last].c_str();
}

LoneNotice::LoneNotice() { ::setenv(told_above, "1", 1); }
LoneNotice::~LoneNotice() { ::unsetenv(told_above); }

void print_notice_on_signals() {
  if (std::getenv(told_above) != nullptr) return;
  is_rank = comm::under_mpiexec();
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction before {
    }, action{};
    action.sa_handler = print_notice_and_end;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER | SA_ONSTACK);
    ::sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) ::sigaction(number, &action, nullptr);
  }
}

}  // namespace paragrad::worlds
