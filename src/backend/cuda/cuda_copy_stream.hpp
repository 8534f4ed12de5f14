#pragma once

#include "backend/cuda/handles.hpp"
#include "backend/cuda/pinned_ring.hpp"
#include "backend/device.hpp"

namespace paragrad::backend::cuda {

/// Copies on a separate stream, through pinned memory.
class CudaCopyStream final : public CopyStream {
 public:
  /// kernels: the device's stream that follow() waits for; it must outlive this object.
  CudaCopyStream(int gpu, cudaStream_t kernels, Device& device);
  void follow() override;

 private:
  void do_bring(std::size_t bytes, const std::byte* from, std::byte* to) override;

  int gpu_;
  cudaStream_t kernels_;
  Device& device_;
  Stream stream_ = make_stream();
  Event before_ = make_event();  // the last call before follow()
  PinnedRing copies_;
};

}  // namespace paragrad::backend::cuda
