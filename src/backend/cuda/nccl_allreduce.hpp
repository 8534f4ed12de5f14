#pragma once

#include <memory>

#include "backend/cuda/cuda_check.hpp"
#include "backend/device.hpp"

namespace paragrad::backend::cuda {

/// NCCL on the stream of `device`, which must outlive it. Throws ConfigError if NCCL is missing.
std::unique_ptr<DeviceAllreduce> make_nccl_allreduce(int gpu, cudaStream_t stream, Device& device);

}  // namespace paragrad::backend::cuda
