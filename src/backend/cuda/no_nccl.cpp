#include "backend/cuda/nccl_allreduce.hpp"
#include "core/errors.hpp"

namespace paragrad::backend::cuda {

std::unique_ptr<DeviceAllreduce> make_nccl_allreduce(int, cudaStream_t, Device&) {
  throw core::ConfigError("NCCL is not part of this build of paragrad: choose a collective other than nccl");
}

}  // namespace paragrad::backend::cuda
