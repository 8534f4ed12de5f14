#pragma once

#include <memory>

#include "backend/cuda/gpu_blas.hpp"
#include "backend/gpu_kernels/packed_convolution.hpp"

namespace paragrad::backend::cuda {

/// Convolutions by a library on one stream, with a workspace of their own, so that they must not run concurrently.
class Convolutions {
 public:
  virtual ~Convolutions() = default;

  /// Whether the library computes this one at the wanted precision and with the same bits each time. Slow for a shape that
  /// is new; not while the stream is being captured.
  virtual bool can_run(const gpu_kernels::PackedConvolution& convolution) = 0;

  /// Only what can_run() has accepted.
  virtual void run(const gpu_kernels::PackedConvolution& convolution) = 0;
};

/// cuDNN, or nullptr if this machine or this build lacks it. device: owner of the workspace memory.
std::unique_ptr<Convolutions> make_cudnn(int gpu, const void* device, cudaStream_t stream, Precision precision);

}  // namespace paragrad::backend::cuda
