#include "python/execution.hpp"

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "comm/mpi/mpi_session.hpp"
#include "python/nanobind.hpp"
#include "python/user_code.hpp"
#include "worlds/interruption.hpp"

namespace paragrad::python {
namespace {

namespace nb = nanobind;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// A function on a thread of its own.
class Aside {
 public:
  explicit Aside(const std::function<void()>& function) : thread_([this, &function] { run(function); }) {}
  ~Aside() { thread_.join(); }
  Aside(const Aside&) = delete;

  bool ends_within(Clock::duration limit) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [this] { return ended_; });
  }
  const std::exception_ptr& error() const { return error_; }  ///< of a function that has ended

 private:
  void run(const std::function<void()>& function) {
    try {
      function();
    } catch (...) {
      error_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

struct sigaction python_action;  // of SIGINT, for the handler below

/// In its lifetime Ctrl-C ends a training after its current block, and does what it did before.
class Interruptible {
 public:
  Interruptible() {
    struct sigaction action {};
    action.sa_handler = [](int number) {
      worlds::interrupt();
      if (python_action.sa_handler != SIG_DFL && python_action.sa_handler != SIG_IGN) python_action.sa_handler(number);
    };
    ::sigaction(SIGINT, nullptr, &python_action);
    ::sigaction(SIGINT, &action, nullptr);
  }
  ~Interruptible() { ::sigaction(SIGINT, &python_action, nullptr); }
  Interruptible(const Interruptible&) = delete;
};

bool is_main_thread() {
  const nb::object threading = nb::module_::import_("threading");
  return threading.attr("current_thread")().is(threading.attr("main_thread")());
}

bool has_usual_handler() {
  const nb::object signal = nb::module_::import_("signal");
  return signal.attr("getsignal")(signal.attr("SIGINT")).is(signal.attr("default_int_handler"));
}

void execute_here(const std::function<void()>& command) {
  std::optional<Interruptible> interruptible;
  if (has_usual_handler()) interruptible.emplace();
  const nb::gil_scoped_release other_threads_run;
  command();
}

/// Throws what a signal's handler raises.
void execute_aside(const std::function<void()>& command) {
  constexpr Clock::duration period = 50ms, patience = 1s;
  std::optional<nb::python_error> raised;
  Clock::time_point raised_at;
  Aside aside(command);
  const auto ends = [&] {
    const nb::gil_scoped_release other_threads_run;
    return aside.ends_within(period);
  };
  while (!ends()) {
    if (PyErr_CheckSignals() != 0) {
      if (!raised) raised_at = Clock::now();
      raised.emplace();  // the latest
      worlds::interrupt();
    }
    if (raised && Clock::now() - raised_at > patience) UserCode::interrupt_all();
  }
  if (raised) throw std::move(*raised);
  if (aside.error()) std::rethrow_exception(aside.error());
}

}  // namespace

void execute(const std::function<void()>& command) {
  worlds::forget_interruption();
  std::exception_ptr error;
  try {
    if (is_main_thread() && !comm::under_mpiexec())
      execute_aside(command);
    else
      execute_here(command);
  } catch (const nb::python_error&) {
    worlds::forget_interruption();
    throw;
  } catch (...) {
    error = std::current_exception();
  }
  worlds::forget_interruption();
  if (PyErr_CheckSignals() != 0) throw nb::python_error();  // that came in the meantime
  if (error) std::rethrow_exception(error);
}

}  // namespace paragrad::python
