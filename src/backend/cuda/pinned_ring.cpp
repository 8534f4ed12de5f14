#include "backend/cuda/pinned_ring.hpp"

#include <cstring>

#include "backend/cuda/gpu.hpp"

namespace paragrad::backend::cuda {

void PinnedRing::upload(std::size_t bytes, const std::byte* from, std::byte* to, cudaStream_t stream) {
  Slot& slot = slots_[turn_];
  turn_ = (turn_ + 1) % slots_.size();
  use_gpu(gpu_);
  if (slot.copied == nullptr)
    slot.copied = make_event();
  else
    check(cudaEventSynchronize(slot.copied.get()), "an upload");
  if (slot.memory.size() * sizeof(float) < bytes)
    slot.memory = allocate_pinned(gpu_, (bytes + sizeof(float) - 1) / sizeof(float));
  std::memcpy(slot.memory.span().data(), from, bytes);
  check(cudaMemcpyAsync(to, slot.memory.span().data(), bytes, cudaMemcpyHostToDevice, stream), "an upload");
  check(cudaEventRecord(slot.copied.get(), stream), "an upload");
}

}  // namespace paragrad::backend::cuda
