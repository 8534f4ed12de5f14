#pragma once

#include <boost/context/fiber.hpp>
#include <cstdint>
#include <functional>

#include "sim/engine/engine.hpp"
#include "sim/engine/stack_pool.hpp"

namespace paragrad::sim {

/// One emulated worker's thread of control: a stack and an execution state. Switches only between itself and the engine.
class Fiber : public EventHandler {
 public:
  Fiber(Engine& engine, StackPool& stacks, std::uint32_t actor, std::function<void()> body);

  ~Fiber() override;

  std::uint32_t actor() const { return actor_; }
  bool ended() const { return !context_; }
  Time own_time() const { return own_time_; }  ///< later than the engine's time if the fiber is ahead
  void set_own_time(Time time) { own_time_ = time; }
  Wait waiting_for() const { return waiting_for_; }
  void set_waiting_for(Wait reason) { waiting_for_ = reason; }

  void switch_in();   ///< engine -> fiber; returns when the fiber suspends or ends. Throws StackOverflow if it detects one
  void switch_out();  ///< fiber -> engine

  void fire(std::uint64_t) override { engine_.resume(*this); }

  struct Abandoned {};  ///< unwinds the stack of a fiber that will not continue

 private:
  void run_body();

  Engine& engine_;
  std::uint32_t actor_;
  std::function<void()> body_;
  Wait waiting_for_;
  Time own_time_ = 0;
  boost::context::fiber context_;  // the fiber while the engine runs
  boost::context::fiber caller_;   // the engine while the fiber runs
  // The exceptions being handled on the other side of the switch: of the engine while the fiber runs, of the fiber while the
  // engine runs. The language keeps them per thread, and the fibers share one.
  struct Handled {
    void* caught = nullptr;
    unsigned int uncaught = 0;
  };
  void swap_handled();
  Handled handled_;
  // AddressSanitizer must be notified of each stack switch.
  void* engine_fake_stack_ = nullptr;
  void* own_fake_stack_ = nullptr;
  const void* engine_stack_ = nullptr;
  std::size_t engine_stack_bytes_ = 0;
  const void* own_stack_ = nullptr;
  bool guarded_;
  std::size_t own_stack_bytes_ = 0;
  // ThreadSanitizer treats fibers as threads that the program switches itself.
  void* engine_thread_ = nullptr;
  void* own_thread_ = nullptr;
};

}  // namespace paragrad::sim
