#include "backend/cuda/cuda_copy_stream.hpp"

#include <algorithm>

#include "backend/cuda/gpu.hpp"

namespace paragrad::backend::cuda {

CudaCopyStream::CudaCopyStream(int gpu, cudaStream_t kernels, Device& device)
    : gpu_(use_gpu(gpu)), kernels_(kernels), device_(device), copies_(gpu) {}

void CudaCopyStream::follow() {
  device_.submit();
  check(cudaEventRecord(before_.get(), kernels_), "recording an event");
}

// In pieces, so that one is copied to pinned memory while the previous one is transferred.
void CudaCopyStream::do_bring(std::size_t bytes, const std::byte* from, std::byte* to) {
  constexpr std::size_t piece = std::size_t{512} * 1024;
  use_gpu(gpu_);
  check(cudaStreamWaitEvent(stream_.get(), before_.get()), "waiting for an event");
  for (std::size_t done = 0; done < bytes; done += piece)
    copies_.upload(std::min(piece, bytes - done), from + done, to + done, stream_.get());
  check(cudaStreamSynchronize(stream_.get()), "copying samples");
}

}  // namespace paragrad::backend::cuda
