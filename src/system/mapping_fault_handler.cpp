#include "system/mapping_fault_handler.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <string_view>
#include <utility>

#include "system/mapping_fault.hpp"

namespace paragrad::system {
namespace {

// Process-wide, because signal handlers are.
struct sigaction action_before;
std::atomic<const std::function<void(const char*)>*> end_of_rank = nullptr;
std::atomic_flag one_speaks = ATOMIC_FLAG_INIT;
std::atomic<int> exit_code = 1;

void pass_on(int signal, const siginfo_t& info) {
  ::sigaction(signal, &action_before, nullptr);
  if (info.si_code <= 0) ::raise(signal);  // sent by a process; real faults recur by themselves
}

void give_up(int) { ::_exit(exit_code); }

/// Runs in the middle of a memory read, in code that holds no library lock.
void on_bus_error(int signal, siginfo_t* info, void*) {
  constexpr std::string_view prefix = "paragrad: ";
  constexpr unsigned timeout_s = 10;
  char text[3072];
  std::copy(prefix.begin(), prefix.end(), text);
  const std::string_view sentence =
      info->si_code == BUS_ADRERR
          ? system::describe_mapping_fault(info->si_addr, std::span(text).subspan(prefix.size(), 2900))
          : std::string_view();
  if (sentence.empty()) return pass_on(signal, *info);
  while (one_speaks.test_and_set()) ::pause();  // other threads may read the same file
  text[prefix.size() + sentence.size()] = '\0';
  if (const auto* end = end_of_rank.load()) {
    std::signal(SIGALRM, give_up);  // in case MPI does not return
    ::alarm(timeout_s);
    (*end)(text);
  }
  (void)!::write(STDERR_FILENO, text, prefix.size() + sentence.size());
  ::_exit(exit_code);
}

}  // namespace

void report_mapping_faults(int code) {
  exit_code = code;
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, &action_before);
}

MappingFaultEnd::MappingFaultEnd(std::function<void(const char*)> end) : end_(std::move(end)) { end_of_rank = &end_; }

MappingFaultEnd::~MappingFaultEnd() { end_of_rank = nullptr; }

}  // namespace paragrad::system
