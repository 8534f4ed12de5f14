#pragma once

#include <deque>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/platform.hpp"

namespace paragrad::sim {

/// Workers that share a device compute one after the other, first come, first served. Costs nothing where nobody shares.
class DeviceQueues {
 public:
  DeviceQueues(Engine& engine, const Platform& platform, int workers);

  bool needed() const { return !devices_.empty(); }

  /// The running fiber holds the device of worker `rank`, as long as this lives. Settles, if queues are needed.
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
  std::vector<Device> devices_;  // empty: nobody shares
};

}  // namespace paragrad::sim
