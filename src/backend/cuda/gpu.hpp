#pragma once

#include <cstddef>
#include <string>

#include "core/arena.hpp"

namespace paragrad::backend::cuda {

/// The GPU that this process computes on: among those of the node, by the process's rank there (as MPICH, Open MPI and Slurm
/// tell it), round robin. Throws ConfigError where there is no GPU, or no driver for it: one sentence.
int choose_gpu();

/// Makes it the calling thread's, whose calls go to it from now on: a device is used by many threads, one after the other.
/// Returns it.
int use_gpu(int gpu);

/// "NVIDIA H200, 151 GB"
std::string describe_gpu(int gpu);

/// Zeros in memory of that GPU, for `device`. Throws ConfigError that says how much was wanted, how much is free, and how
/// many devices like this there is room for.
core::Arena allocate_on_gpu(int gpu, const void* device, std::size_t count);

/// Memory of the host that that GPU fetches from by itself; content undefined.
core::Arena allocate_pinned(int gpu, std::size_t count);

}  // namespace paragrad::backend::cuda
