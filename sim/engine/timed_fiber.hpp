#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "fibers/fiber.hpp"
#include "sim/engine/engine.hpp"

namespace paragrad::sim {

/// A fiber of an emulated worker, with a time of its own that may be ahead of the engine's.
class Fiber : public fibers::Fiber, public EventHandler {
 public:
  Fiber(Engine& engine, fibers::StackPool& stacks, std::uint32_t actor, std::function<void()> body);

  std::uint32_t actor() const { return actor_; }
  std::string name() const override { return "worker " + std::to_string(actor_); }
  Time own_time() const { return own_time_; }  ///< later than the engine's time if the fiber is ahead
  void set_own_time(Time time) { own_time_ = time; }

  void fire(std::uint64_t) override { engine_.resume(*this); }

 private:
  Engine& engine_;
  std::uint32_t actor_;
  Time own_time_ = 0;
};

}  // namespace paragrad::sim
