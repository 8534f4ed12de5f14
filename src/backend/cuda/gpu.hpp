#pragma once

#include <cstddef>

#include "core/arena.hpp"

namespace paragrad::backend::cuda {

/// The GPU that this process computes on: among those of the node, by the process's rank there (as MPICH, Open MPI and Slurm
/// tell it), round robin. Throws ConfigError where there is no GPU, or no driver for it: one sentence.
int choose_gpu();

/// Zeros in memory of that GPU, for `device`. Throws ConfigError that says how much was wanted, how much is free, and how
/// many devices like this there is room for.
core::Arena allocate_on_gpu(int gpu, const void* device, std::size_t count);

/// Memory of the host that the GPU fetches from by itself; content undefined.
core::Arena allocate_pinned(std::size_t count);

}  // namespace paragrad::backend::cuda
