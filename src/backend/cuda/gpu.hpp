#pragma once

#include <cstddef>

#include "core/arena.hpp"

namespace paragrad::backend::cuda {

/// The GPU that this process computes on: among those of the node, by the process's rank there (as MPICH, Open MPI and Slurm
/// tell it), round robin. Throws ConfigError where there is no GPU, or no driver for it: one sentence.
int choose_gpu();

/// Zeros in memory of that GPU. Throws ConfigError that says how much was wanted and how much is free.
core::Arena allocate_on_gpu(int gpu, std::size_t count);

}  // namespace paragrad::backend::cuda
