#include "backend/cuda/pinned_ring.hpp"

#include <cstring>

namespace paragrad::backend::cuda {

PinnedRing::~PinnedRing() {
  for (const Slot& slot : slots_)
    if (slot.memory != nullptr) static_cast<void>(cudaFreeHost(slot.memory));
}

void PinnedRing::upload(std::size_t bytes, const std::byte* from, std::byte* to, cudaStream_t stream) {
  Slot& slot = slots_[turn_];
  turn_ = (turn_ + 1) % slots_.size();
  if (slot.copied == nullptr)
    slot.copied = make_event();
  else
    check(cudaEventSynchronize(slot.copied.get()), "an upload");
  if (slot.bytes < bytes) {
    if (slot.memory != nullptr) check(cudaFreeHost(slot.memory), "giving back pinned memory");
    slot.memory = nullptr;
    check(cudaMallocHost(reinterpret_cast<void**>(&slot.memory), bytes), "allocating pinned memory");
    slot.bytes = bytes;
  }
  std::memcpy(slot.memory, from, bytes);
  check(cudaMemcpyAsync(to, slot.memory, bytes, cudaMemcpyHostToDevice, stream), "an upload");
  check(cudaEventRecord(slot.copied.get(), stream), "an upload");
}

}  // namespace paragrad::backend::cuda
