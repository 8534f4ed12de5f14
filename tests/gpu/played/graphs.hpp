#pragma once

#include "tests/gpu/played/gpu.hpp"

namespace paragrad::played {

/// A kernel with what it is given now.
cudaError_t make_work(const void* function, dim3 blocks, dim3 threads, void** parameters, Work& work);

}  // namespace paragrad::played
