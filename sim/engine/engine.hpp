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

#include "sim/engine/event_queue.hpp"
#include "sim/engine/host_pool.hpp"
#include "sim/engine/time.hpp"

namespace paragrad::sim {

class Fiber;
class StackPool;

/// Nobody can go on: each waits for something that nobody will do. The text says who waits for what.
class Deadlock : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A fiber wrote beyond its stack, and probably over that of another. Up to 8,192 fibers have guard pages instead.
class StackOverflow : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// What a fiber waits for: "a message from worker 3". peer < 0: any worker.
struct Wait {
  const char* what = nullptr;  // a literal
  int peer = -1;
};

/// Discrete-event engine: fibers with one common simulated clock.
///
/// Everything that touches shared state (network, mailboxes, clock) happens on one thread, as an event, in the order of
/// (time, actor, sequence number of creation): a total order that depends on the program alone. A fiber runs while its own
/// event is in hand. What concerns nobody else it may do ahead of the common clock (pass_until), which saves the switches;
/// it must settle() before it touches anything shared. Only the arithmetic handed to compute() runs elsewhere, on the host
/// pool; such a task bounds how far the others may go on (see compute), so results and times do not depend on the number of
/// host threads nor on their speed.
class Engine {
 public:
  static constexpr std::size_t default_stack_bytes = 256 * 1024;

  /// fibers: how many spawn() calls will follow at most. stack_bytes: of each fiber; arithmetic does not run on it.
  Engine(std::size_t fibers, int host_threads, std::size_t stack_bytes = default_stack_bytes);
  ~Engine();  ///< unwinds the fibers that have not ended
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// A fiber that starts at now(). `actor` orders it among others at equal times; its rank. Call before run() or from a
  /// fiber.
  void spawn(std::uint32_t actor, std::function<void()> body);

  /// Runs until all fibers have ended. Rethrows what the first failing fiber (in simulated time) threw; throws Deadlock,
  /// StackOverflow.
  void run();

  /// The common clock. For a fiber that is ahead of it a logic_error: it has not settled.
  Time now() const;
  std::uint64_t events() const { return fired_; }  ///< so far
  std::size_t host_threads() const { return pool_.threads(); }

  /// Sets the common clock back. The caller knows that nothing shared has been touched since.
  void go_back_to(Time time) { now_ = time; }

  /// Asked when no events are left but fibers are: true if there is something to do now.
  void set_when_stuck(std::function<bool()> when_stuck) { when_stuck_ = std::move(when_stuck); }

  /// handler.fire(argument) at time `at` >= now(), in the name of `actor`.
  void schedule(Time at, std::uint32_t actor, EventHandler& handler, std::uint64_t argument);

  // The following are for the fiber that is running.

  Fiber& current() const { return *current_; }

  /// The fiber's own time: now(), or later if it is ahead.
  Time own_time() const;

  /// The fiber's own time becomes `at` unless that is past; it goes on ahead of the others.
  void pass_until(Time at);
  void pass(Time duration) { pass_until(own_time() + duration); }

  /// Lets the others catch up: now() == own_time() on return.
  void settle();

  /// settle() for a fiber that an error unwinds, from a destructor. Nobody else runs afterwards, if the error goes on to end
  /// the fiber.
  void settle_unwinding() noexcept;

  /// pass and settle: goes on when the others have caught up.
  void sleep(Time duration) { sleep_until(own_time() + duration); }
  void sleep_until(Time at);

  /// Goes on when somebody calls wake(). Does not settle: the fiber keeps its own time, or gets that of the waking. The
  /// reason is for the report of a deadlock.
  void block(Wait reason);

  /// Lets a blocked fiber go on at now(), after the event in hand, or at a later time.
  void wake(Fiber& fiber) { wake_at(fiber, now()); }
  void wake_at(Fiber& fiber, Time at);

  /// Runs `task` on the host pool; the fiber goes on at now() + duration(), which is asked for when the task has ended.
  /// at_least: a lower bound of that duration, known beforehand. Events before now() + at_least go on meanwhile. A shorter
  /// duration() is a logic_error. Settles before.
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
  void take_finished(bool wait);
  [[noreturn]] void report_deadlock();

  friend class Fiber;

  std::unique_ptr<StackPool> stacks_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  EventQueue events_;
  std::unordered_map<std::uint64_t, Computing*> computing_;  // looked up by id only, never iterated
  std::set<EventKey> bounds_;
  std::vector<HostPool::Finished> finished_;
  std::function<bool()> when_stuck_;
  Fiber* current_ = nullptr;
  std::size_t live_ = 0;
  Time now_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t fired_ = 0;
  std::exception_ptr failure_;
  bool abandoning_ = false;
  HostPool pool_;  // last: its threads end before anything that their tasks use
};

}  // namespace paragrad::sim
