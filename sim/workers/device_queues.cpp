#include "sim/workers/device_queues.hpp"

namespace paragrad::sim {

DeviceQueues::DeviceQueues(Engine& engine, const Platform& platform, int workers)
    : engine_(engine), workers_(workers), slots_(platform.workers()) {
  if (workers > slots_) devices_.resize(static_cast<std::size_t>(slots_));
}

DeviceQueues::Hold::Hold(DeviceQueues& queues, int rank)
    : queues_(queues), device_(static_cast<std::size_t>(device_of(rank, queues.workers_, queues.slots_))) {
  if (!queues_.needed()) return;
  queues_.engine_.settle();
  Device& device = queues_.devices_[device_];
  if (device.busy) {
    device.waiting.push_back(&queues_.engine_.current());
    queues_.engine_.block({"its turn on a device shared with", rank});
  }
  device.busy = true;
}

DeviceQueues::Hold::~Hold() {
  if (!queues_.needed()) return;
  Device& device = queues_.devices_[device_];
  device.busy = !device.waiting.empty();  // it passes to the next without a gap
  if (!device.busy) return;
  queues_.engine_.wake(*device.waiting.front());
  device.waiting.pop_front();
}

}  // namespace paragrad::sim
