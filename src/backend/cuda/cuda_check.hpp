#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

namespace paragrad::backend::cuda {

/// Whether CUDA's variable CUDA_LAUNCH_BLOCKING is set: each kernel is waited for where it is started.
bool launches_block();

/// Throws std::runtime_error that names what failed, a kernel as a rule, and says CUDA's reason; of a kernel that failed
/// some time ago, how to find out which.
void check(cudaError_t status, const char* what);
void check(cublasStatus_t status, const char* what);

}  // namespace paragrad::backend::cuda
