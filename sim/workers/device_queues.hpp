#pragma once

#include <deque>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/platform.hpp"

namespace paragrad::sim {

/// Serialises workers that share a device, first come, first served. Costs nothing if no device is shared.
class DeviceQueues {
 public:
  DeviceQueues(Engine& engine, const Platform& platform, int workers);

  bool needed() const { return !devices_.empty(); }

  /// While this object lives, the running fiber holds the device of worker `rank`. Settles, if queues are needed.
  class Hold {
   public:
    Hold(DeviceQueues& queues, int rank);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    DeviceQueues& queues_;
    std::size_t device_;
  };

 private:
  struct Device {
    bool busy = false;
    std::deque<Fiber*> waiting;
  };

  Engine& engine_;
  int workers_, slots_;
  std::vector<Device> devices_;  // empty: no device is shared
};

}  // namespace paragrad::sim
