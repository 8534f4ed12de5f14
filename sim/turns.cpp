#include "sim/turns.hpp"

namespace paragrad::sim {

Turns::Turns(Engine& engine, const Platform& platform, int workers)
    : engine_(engine), workers_(workers), slots_(platform.workers()) {
  if (workers > slots_) devices_.resize(static_cast<std::size_t>(slots_));
}

Turns::Turn::Turn(Turns& turns, int rank)
    : turns_(turns), device_(static_cast<std::size_t>(device_of(rank, turns.workers_, turns.slots_))) {
  if (!turns_.needed()) return;
  turns_.engine_.settle();
  Device& device = turns_.devices_[device_];
  if (device.busy) {
    device.waiting.push_back(&turns_.engine_.current());
    turns_.engine_.block({"its turn on a device shared with", rank});
  }
  device.busy = true;
}

Turns::Turn::~Turn() {
  if (!turns_.needed()) return;
  Device& device = turns_.devices_[device_];
  device.busy = !device.waiting.empty();  // it passes to the next without a gap
  if (!device.busy) return;
  turns_.engine_.wake(*device.waiting.front());
  device.waiting.pop_front();
}

}  // namespace paragrad::sim
