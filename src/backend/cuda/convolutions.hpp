#pragma once

#include <memory>

#include "backend/cuda/gpu_blas.hpp"
#include "backend/gpu_kernels/packed_convolution.hpp"

namespace paragrad::backend::cuda {

/// Runs convolutions with a library, on one stream. All share one workspace, so they must not run concurrently.
class Convolutions {
 public:
  virtual ~Convolutions() = default;

  /// Whether the library computes this convolution at the device's precision and with the same bits each time. Slow the
  /// first time a shape is passed; must not be called during stream capture.
  virtual bool can_run(const gpu_kernels::PackedConvolution& convolution) = 0;

  /// Only what can_run() has accepted.
  virtual void run(const gpu_kernels::PackedConvolution& convolution) = 0;
};

/// cuDNN, or nullptr if this machine or this build lacks it, or it does not start. device: owner of the workspace memory.
std::unique_ptr<Convolutions> make_cudnn(int gpu, const void* device, cudaStream_t stream, Precision precision);

}  // namespace paragrad::backend::cuda
