#pragma once

#include <memory>

#include "backend/cuda/cuda_check.hpp"
#include "backend/kernels.hpp"

namespace paragrad::backend::cuda {

/// NCCL on the stream of `device`, which has to live as long. Throws ConfigError where there is no NCCL.
std::unique_ptr<DeviceAllreduce> make_nccl_allreduce(int gpu, cudaStream_t stream, Device& device);

}  // namespace paragrad::backend::cuda
