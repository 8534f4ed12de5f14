#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>

#include "fibers/stack_pool.hpp"

namespace paragrad::fibers {

/// A fiber wrote beyond its stack, probably into another fiber's. With up to 8,192 fibers guard pages prevent this.
class StackOverflow : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// What a fiber waits for: "a message from worker 3". peer < 0: any worker.
struct Wait {
  const char* what = nullptr;  // a literal
  int peer = -1;
};

/// One worker's thread of control: a stack and an execution state. Switches only between itself and its scheduler, on the
/// scheduler's thread.
class Fiber {
 public:
  /// abandoning: of the scheduler, which outlives its fibers; once it is set, switch_out() throws Abandoned, and a body that
  /// has not begun is left out. body: may throw nothing but Abandoned.
  Fiber(StackPool& stacks, const bool& abandoning, std::function<void()> body);
  virtual ~Fiber();

  virtual std::string name() const = 0;  ///< "worker 3", for messages

  bool ended() const { return !context_; }
  Wait waiting_for() const { return waiting_for_; }
  void set_waiting_for(Wait reason) { waiting_for_ = reason; }

  void switch_in();  ///< scheduler -> fiber; returns when the fiber suspends or ends. Throws StackOverflow if it detects one
  void switch_out();  ///< fiber -> scheduler

  /// Called by the fiber itself: when it next waits, the stack that only deeper calls have used is given back.
  void release_unused_stack() { releases_stack_ = true; }

  struct Abandoned {};  ///< unwinds the stack of a fiber that will not continue

  /// "worker 1 waits for a message from worker 0; …": of those that have not ended and wait for something.
  template <class Fibers>
  static std::string waits_of(const Fibers& fibers) {
    Waits waits;
    for (const auto& fiber : fibers)
      if (!fiber->ended()) waits.add(*fiber);
    return waits.text();
  }

 private:
  class Waits {
   public:
    void add(const Fiber& fiber);
    std::string text() const;

   private:
    std::string shown_;
    std::size_t count_ = 0;
  };

  void run_body();

  const bool& abandoning_;
  std::function<void()> body_;
  Wait waiting_for_;
  boost::context::fiber context_;  // the fiber while the scheduler runs
  boost::context::fiber caller_;   // the scheduler while the fiber runs
  // The exceptions being handled on the other side of the switch: of the scheduler while the fiber runs, of the fiber while
  // the scheduler runs. The language keeps them per thread, and the fibers share one.
  struct Handled {
    void* caught = nullptr;
    unsigned int uncaught = 0;
  };
  void swap_handled();
  Handled handled_;
  // AddressSanitizer must be notified of each stack switch.
  void* caller_fake_stack_ = nullptr;
  void* own_fake_stack_ = nullptr;
  const void* caller_stack_ = nullptr;
  std::size_t caller_stack_bytes_ = 0;
  const void* own_stack_ = nullptr;
  bool guarded_;
  bool releases_stack_ = false;
  std::size_t own_stack_bytes_ = 0;
  // ThreadSanitizer treats fibers as threads that the program switches itself.
  void* caller_thread_ = nullptr;
  void* own_thread_ = nullptr;
};

}  // namespace paragrad::fibers
