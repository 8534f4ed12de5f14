#include "backend/cuda/gpu.hpp"

#include <cstdlib>
#include <mutex>

#include "backend/cuda/cuda_check.hpp"
#include "backend/memory_ledger.hpp"
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
        core::format("device 'cuda': this machine has no usable NVIDIA GPU ({}): choose the "
                     "device cpu",
                     cudaGetErrorString(status == cudaSuccess ? cudaErrorNoDevice : status)));
  return use_gpu(rank_on_node() % gpus);
}

int use_gpu(int gpu) {
  check(cudaSetDevice(gpu), "choosing a GPU");
  return gpu;
}

std::string describe_gpu(int gpu) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, gpu), "querying the GPU");
  return core::format("{}, {:.0f} GB", properties.name, in_megabytes(properties.totalGlobalMem) * 1e-3);
}

namespace {

/// Memory is allocated and released under the mutex, so that after a failed allocation all of it is in the ledger or free.
struct Memory {
  std::mutex mutex;
  MemoryLedger ledger;
};

Memory& gpu_memory() {
  static auto* const of_process = new Memory;  // never destroyed: memory that outlives main() may still be released
  return *of_process;
}

[[noreturn]] void refuse(const void* device, std::size_t bytes) {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "querying free memory");
  const std::size_t room = gpu_memory().ledger.room(device, bytes, free);
  throw core::ConfigError(
      core::format("device 'cuda': {:.0f} MB more are needed, but of the GPU's {:.0f} MB only {:.0f} are free; {}: use "
                   "fewer workers, a smaller minibatch or a smaller model",
                   in_megabytes(bytes), in_megabytes(total), in_megabytes(free),
                   room == 0 ? "not one worker fits" : core::format("at most {} emulated workers fit", room)));
}

float* take(const void* device, std::size_t bytes) {
  const std::lock_guard lock(gpu_memory().mutex);
  void* taken = nullptr;
  const cudaError_t status = cudaMalloc(&taken, bytes);
  if (status == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());  // clear the error, so that the next call does not report it
    refuse(device, bytes);
  }
  check(status, "allocating memory");
  gpu_memory().ledger.took(device, taken, bytes);
  return static_cast<float*>(taken);
}

void give_back(float* taken) {
  const std::lock_guard lock(gpu_memory().mutex);
  gpu_memory().ledger.gave_back(taken);
  static_cast<void>(cudaFree(taken));
}

}  // namespace

core::Arena allocate_on_gpu(int gpu, const void* device, std::size_t count) {
  if (count == 0) return {};
  use_gpu(gpu);
  const std::size_t bytes = count * sizeof(float);
  core::Arena arena(take(device, bytes), count, [](float* data, std::size_t) { give_back(data); });
  check(cudaMemset(arena.span().data(), 0, bytes), "clearing memory");
  check(cudaStreamSynchronize(nullptr), "clearing memory");  // the devices' own streams would not wait for it
  return arena;
}

bool is_on_gpu(const void* address) { return gpu_memory().ledger.holds(address); }

core::Arena allocate_pinned(int gpu, std::size_t count) {
  if (count == 0) return {};
  use_gpu(gpu);
  void* memory = nullptr;
  check(cudaMallocHost(&memory, count * sizeof(float)), "allocating pinned memory");
  return {static_cast<float*>(memory), count, [](float* data, std::size_t) { static_cast<void>(cudaFreeHost(data)); }};
}

}  // namespace paragrad::backend::cuda
