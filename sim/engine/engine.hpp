#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "fibers/fiber.hpp"
#include "fibers/host_pool.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/engine/time.hpp"

namespace paragrad::sim {

using fibers::StackOverflow;
using fibers::Wait;

class Fiber;

/// No worker can continue: each waits for an event that will never happen. The text lists which worker waits for what.
class Deadlock : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Discrete-event engine: fibers with one common simulated clock.
///
/// All access to shared state (network, mailboxes, clock) happens on one thread, as an event, in the order of (time, actor,
/// sequence number of creation): a total order that depends only on the program. A fiber runs while its own event is being
/// processed. For actions that affect no other fiber it may run ahead of the common clock (pass_until), which saves context
/// switches; it must settle() before it touches anything shared. Only the arithmetic passed to compute() runs elsewhere, on
/// the host pool; such a task limits how far the others may advance (see compute), so results and times depend neither on
/// the number of host threads nor on their speed.
class Engine {
 public:
  using Fiber = sim::Fiber;

  static constexpr std::size_t default_stack_bytes = 256 * 1024;

  /// fibers: maximum number of spawn() calls. stack_bytes: per fiber; arithmetic does not run on this stack.
  Engine(std::size_t fibers, int host_threads, std::size_t stack_bytes = default_stack_bytes);
  ~Engine();  ///< unwind()
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Creates a fiber that starts at now(). actor: its rank, which orders it among others at equal times. Call before run()
  /// or from a fiber.
  void spawn(std::uint32_t actor, std::function<void()> body);

  /// Runs until all fibers have ended. Rethrows the exception of the first fiber to fail (in simulated time); throws
  /// Deadlock, StackOverflow.
  /// stop_when: if given, asked before each event with its time; if it returns true, the event does not happen, and the run
  /// ends there. Returns whether all fibers have ended.
  bool run(const std::function<bool(Time)>& stop_when = nullptr);

  /// Unwinds the stacks of the fibers that have not ended. Nothing can run afterwards. Call it before anything is destroyed
  /// that these stacks refer to.
  void unwind();

  /// The common clock. Throws logic_error for a fiber that is ahead of it and has not settled.
  Time now() const;
  std::uint64_t events() const { return fired_; }  ///< so far
  std::size_t host_threads() const { return pool_.threads(); }

  /// Sets the common clock back. The caller guarantees that nothing shared has been touched since.
  void go_back_to(Time time) { now_ = time; }

  /// Sets a function called when fibers but no events are left; it returns true if it has created new events.
  void set_when_stuck(std::function<bool()> when_stuck) { when_stuck_ = std::move(when_stuck); }

  /// Schedules handler.fire(argument) at time `at` >= now(), on behalf of `actor`.
  void schedule(Time at, std::uint32_t actor, EventHandler& handler, std::uint64_t argument);

  // The following are for the fiber that is running.

  Fiber& current() const { return *current_; }

  /// The fiber's own time: now(), or later if it is ahead.
  Time own_time() const;

  /// Advances the fiber's own time to `at`, if that is later; the fiber runs ahead of the others.
  void pass_until(Time at);
  void pass(Time duration) { pass_until(own_time() + duration); }

  /// Lets the other fibers catch up: now() == own_time() on return.
  void settle();

  /// settle() for a fiber that is being unwound by an error, from a destructor. No other fiber runs afterwards if the error
  /// ends the fiber.
  void settle_unwinding() noexcept;

  /// pass_until() and settle(): continues when the others have caught up.
  void sleep(Time duration) { sleep_until(own_time() + duration); }
  void sleep_until(Time at);

  /// Blocks until wake(). Does not settle: the fiber keeps its own time, or gets the time of the wake if later. The reason
  /// is for the deadlock report.
  void block(Wait reason);

  /// Lets a blocked fiber continue at now(), after the current event; or, with wake_at, at a later time.
  /// Nothing happens while stacks are unwound.
  void wake(Fiber& fiber) {
    if (!abandoning_) wake_at(fiber, now());
  }
  void wake_at(Fiber& fiber, Time at);

  /// To be called after deep calls: if there are many fibers, the stack below the current depth is given back when this one
  /// next waits.
  void release_unused_stack();

  /// Runs `task` on the host pool; the fiber continues at now() + duration(), which is called when the task has ended.
  /// at_least: a lower bound on that duration, known in advance; events before now() + at_least are processed meanwhile. A
  /// shorter duration() is a logic_error. Settles first.
  void compute(Time at_least, std::function<void()> task, const std::function<Time()>& duration);

 private:
  // A task on the host pool. Its fiber's next event comes at `earliest` or later.
  struct Computing {
    Fiber* fiber;
    Time start;
    Time at_least;
    std::uint64_t sequence;
    const std::function<Time()>* duration;
    std::exception_ptr error;
  };
  static EventKey bound(const Computing& task);

  void resume(Fiber& fiber);
  void suspend();
  void run_and_end(const std::function<void()>& body);
  void take_finished(bool wait);
  [[noreturn]] void report_deadlock();

  friend Fiber;

  fibers::StackPool stacks_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  EventQueue events_;
  std::unordered_map<std::uint64_t, Computing*> computing_;  // looked up by id only, never iterated
  std::set<EventKey> bounds_;
  std::vector<fibers::HostPool::Finished> finished_;
  std::function<bool()> when_stuck_;
  Fiber* current_ = nullptr;
  std::size_t live_ = 0;
  Time now_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t fired_ = 0;
  std::exception_ptr failure_;
  bool abandoning_ = false;
  fibers::HostPool pool_;  // last member: its threads end before anything that their tasks use
};

}  // namespace paragrad::sim
