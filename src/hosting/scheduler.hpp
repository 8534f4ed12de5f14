#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "comm/mpi/backoff.hpp"
#include "fibers/fiber.hpp"
#include "fibers/host_pool.hpp"

namespace paragrad::hosting {

/// Runs the fibers of the workers of one process, in real time: each continues as soon as what it waits for has happened.
///
/// All but arithmetic happens on the thread that calls run(). Arithmetic runs on a pool of threads, so the order in which
/// fibers continue depends on the machine; what they compute must not. With a single thread there is no pool: changing
/// threads before and after each minibatch would take 2 to 4 % of the time.
class Scheduler {
 public:
  class Fiber;

  static constexpr std::size_t default_stack_bytes = 512 * 1024;

  /// fibers: maximum number of spawn() calls. threads: for arithmetic.
  Scheduler(std::size_t fibers, int threads, std::size_t stack_bytes = default_stack_bytes);
  ~Scheduler();  ///< unwinds the fibers that have not ended
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Creates a fiber of this worker. Call before run() or from a fiber.
  void spawn(int worker, std::function<void()> body);

  /// poll: called between fibers and as long as none can continue; wakes those whose messages have come from other
  /// processes. Deadlocks among fibers are then not detected: after stall_s seconds in which nothing has happened, run()
  /// throws Failure.
  void set_poll(std::function<void()> poll, double stall_s) { poll_ = std::move(poll), stall_s_ = stall_s; }

  /// Runs until all fibers have ended. Rethrows the exception of the first fiber that fails. Throws logic_error if each
  /// fiber waits for another, StackOverflow.
  void run();

  /// Seconds since construction.
  double now_s() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  // The following are for the fiber that is running.

  Fiber& current() const { return *current_; }

  /// Runs `task` on the pool, or here if there is none; returns when it has ended, or rethrows its exception.
  void compute(std::function<void()> task);

  /// Returns after wake().
  void block(fibers::Wait reason) { block_for(reason, forever); }

  /// Returns whether wake() was called within `limit_s`. The other fibers get a chance even if it is 0.
  bool block_for(fibers::Wait reason, double limit_s);

  /// Lets a blocked fiber continue.
  void wake(Fiber& fiber);

  // There is no common clock with which others would have to catch up.
  void settle() {}
  void settle_unwinding() noexcept {}

  /// Whether fibers are being unwound because run() has failed: nothing may block.
  bool abandoning() const { return abandoning_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr double forever = 1e18;

  struct Computing {
    Fiber* fiber;
    std::exception_ptr error;
  };

  void resume(Fiber& fiber);
  void run_and_end(const std::function<void()>& body);
  void wait_for_something();
  void poll_for_something();
  void take_finished();
  void end_waits();
  void make_ready(Fiber& fiber);

  fibers::StackPool stacks_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::deque<Fiber*> ready_;
  std::multimap<double, Fiber*> deadlines_;  // of the fibers that wait with a limit
  std::unordered_map<std::uint64_t, Computing*> computing_;
  std::vector<fibers::HostPool::Finished> finished_;
  std::function<void()> poll_;
  double stall_s_ = 0;
  comm::Competition competition_;  // for this thread's core
  Fiber* current_ = nullptr;
  std::size_t live_ = 0;
  std::uint64_t tasks_ = 0;
  std::exception_ptr failure_;
  bool abandoning_ = false;
  Clock::time_point start_ = Clock::now();
  fibers::HostPool pool_;  // last member: its threads end before anything that their tasks use
};

/// The waits of a communicator, which another fiber can end.
class Waits {
 public:
  explicit Waits(Scheduler& scheduler) : scheduler_(scheduler) {}

  Scheduler& scheduler() { return scheduler_; }

  /// Scheduler::block_for, but returns at abandon(), too: the caller cleans up and calls stop_if_abandoned().
  bool block_for(fibers::Wait reason, double limit_s);

  /// Throws Failure from abandon() on.
  void stop_if_abandoned() const;

  /// For a worker that is about to end with an error.
  void abandon();

 private:
  Scheduler& scheduler_;
  bool abandoned_ = false;
  Scheduler::Fiber* waiting_ = nullptr;
};

/// A fiber of a worker of this process.
class Scheduler::Fiber : public fibers::Fiber {
 public:
  Fiber(Scheduler& scheduler, int worker, std::function<void()> body);

  std::string name() const override { return "worker " + std::to_string(worker_); }

 private:
  friend Scheduler;

  int worker_;
  bool blocked_ = false;  // in block_for
  bool woken_ = false;    // what its last block_for ended with
};

}  // namespace paragrad::hosting
