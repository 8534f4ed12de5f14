#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <unordered_map>

#include "sim/engine/engine.hpp"

namespace paragrad::sim {

/// So many seconds after a time; never if that is farther away than times reach.
inline Time later(Time time, double seconds) {
  if (!(seconds < to_seconds(never))) return never;
  return std::min(never, time + from_seconds(std::max(seconds, 0.0)));
}

/// Limits of waits. A fiber that blocks for a limited time has one timeout, which goes off at the very end of its instant:
/// what arrives in that instant is still in time. A fiber keeps one event for all its timeouts as long as they come later
/// and later, so limits that are never reached cost next to nothing.
class Timeouts : private EventHandler {
 public:
  /// give_up(waiting): called when an timeout goes off; to wake the fiber.
  Timeouts(Engine& engine, std::function<void(std::uint64_t waiting)> give_up)
      : engine_(engine), give_up_(std::move(give_up)) {}
  Timeouts(const Timeouts&) = delete;
  Timeouts& operator=(const Timeouts&) = delete;

  // The following are for the running fiber, before and after it blocks.
  void set(Time at, std::uint64_t waiting);
  void clear();

 private:
  struct Timeout {
    Time at = never;        // or never: nobody waits
    Time event_at = never;  // its event
    std::uint64_t waiting = 0;
  };

  void fire(std::uint64_t timeout) override;
  void schedule(Timeout& timeout);

  Engine& engine_;
  std::function<void(std::uint64_t)> give_up_;
  std::unordered_map<const Fiber*, Timeout> timeouts_;  // looked up only; entries stay where they are
};

}  // namespace paragrad::sim
