#include "backend/cuda/gpu.hpp"

#include <cstdlib>

#include "backend/cuda/cuda_check.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::backend::cuda {
namespace {

int rank_on_node() {
  for (const char* variable : {"MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"})
    if (const char* text = std::getenv(variable)) return std::atoi(text);
  return 0;
}

double in_megabytes(std::size_t bytes) { return static_cast<double>(bytes) * 1e-6; }

}  // namespace

int choose_gpu() {
  int gpus = 0;
  const cudaError_t status = cudaGetDeviceCount(&gpus);
  if (status == cudaErrorInsufficientDriver)
    throw core::ConfigError(
        "device 'cuda': the NVIDIA driver is missing or older than the CUDA toolkit of this build: choose the device cpu");
  if (status != cudaSuccess || gpus == 0)
    throw core::ConfigError(
        core::format("device 'cuda': this machine has no NVIDIA GPU that can be used ({}): choose the "
                     "device cpu",
                     cudaGetErrorString(status == cudaSuccess ? cudaErrorNoDevice : status)));
  const int gpu = rank_on_node() % gpus;
  check(cudaSetDevice(gpu), "choosing a GPU");
  return gpu;
}

core::Arena allocate_on_gpu(int gpu, std::size_t count) {
  if (count == 0) return {};
  check(cudaSetDevice(gpu), "choosing a GPU");
  const std::size_t bytes = count * sizeof(float);
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, bytes);
  if (status == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());  // which is no concern of the next call
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "asking for free memory");
    throw core::ConfigError(
        core::format("device 'cuda': {:.0f} MB more are wanted, and of the GPU's {:.0f} MB {:.0f} are free: "
                     "choose fewer emulated workers, a smaller minibatch or a smaller model",
                     in_megabytes(bytes), in_megabytes(total), in_megabytes(free)));
  }
  check(status, "allocating memory");
  check(cudaMemset(memory, 0, bytes), "clearing memory");
  check(cudaStreamSynchronize(nullptr), "clearing memory");  // for which the devices' own streams do not wait
  return {static_cast<float*>(memory), count, [](float* data, std::size_t) { static_cast<void>(cudaFree(data)); }};
}

}  // namespace paragrad::backend::cuda
