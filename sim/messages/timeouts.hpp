#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <unordered_map>

#include "sim/engine/engine.hpp"

namespace paragrad::sim {

/// The given time plus `seconds`; never if that exceeds the range of Time.
inline Time later(Time time, double seconds) {
  if (!(seconds < to_seconds(never))) return never;
  return std::min(never, time + from_seconds(std::max(seconds, 0.0)));
}

/// Timeouts of waits. A fiber that blocks for a limited time has one timeout, which fires at the very end of its instant: a
/// message that arrives in that instant is still in time. A fiber reuses one event for all its timeouts as long as each is
/// later than the last, so limits that are never reached cost almost nothing.
class Timeouts : private EventHandler {
 public:
  /// give_up(waiting): called when a timeout fires, to wake the fiber.
  Timeouts(Engine& engine, std::function<void(std::uint64_t waiting)> give_up)
      : engine_(engine), give_up_(std::move(give_up)) {}
  Timeouts(const Timeouts&) = delete;
  Timeouts& operator=(const Timeouts&) = delete;

  // The following are for the running fiber, before and after it blocks.
  void set(Time at, std::uint64_t waiting);
  void clear();

 private:
  struct Timeout {
    Time at = never;        // never: the fiber does not wait
    Time event_at = never;  // its event
    std::uint64_t waiting = 0;
  };

  void fire(std::uint64_t timeout) override;
  void schedule(Timeout& timeout);

  Engine& engine_;
  std::function<void(std::uint64_t)> give_up_;
  std::unordered_map<const Fiber*, Timeout> timeouts_;  // looked up only; entries keep their addresses
};

}  // namespace paragrad::sim
