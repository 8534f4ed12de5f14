#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

namespace paragrad::backend::cuda {

/// Whether the environment variable CUDA_LAUNCH_BLOCKING is set: each launch then waits for its kernel.
bool launches_block();

/// Throws std::runtime_error naming the failed operation (usually a kernel) and CUDA's reason; for an asynchronous failure
/// of an earlier kernel, also how to identify it.
void check(cudaError_t status, const char* what);
void check(cublasStatus_t status, const char* what);

}  // namespace paragrad::backend::cuda
