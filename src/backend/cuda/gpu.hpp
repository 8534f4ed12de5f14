#pragma once

#include <cstddef>
#include <string>

#include "core/arena.hpp"

namespace paragrad::backend::cuda {

/// The GPU used by this process: the node's GPUs are assigned round robin by local rank (as given by MPICH, Open MPI or
/// Slurm). Throws ConfigError if there is no GPU or no driver.
int choose_gpu();

/// Selects that GPU for the calling thread and returns it; needed because several threads use a device one after another.
int use_gpu(int gpu);

/// "NVIDIA H200, 151 GB"
std::string describe_gpu(int gpu);

/// Allocates zeros in that GPU's memory, for `device`. Throws ConfigError stating how much is needed, how much is free, and
/// how many such devices fit.
core::Arena allocate_on_gpu(int gpu, const void* device, std::size_t count);

/// Whether an address is in memory of allocate_on_gpu. Cheaper than to ask CUDA, and asked for every message of emulated
/// workers.
bool is_on_gpu(const void* address);

/// Pinned host memory, which the GPU can access by DMA; content undefined.
core::Arena allocate_pinned(int gpu, std::size_t count);

}  // namespace paragrad::backend::cuda
