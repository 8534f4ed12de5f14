#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

namespace paragrad::backend::cuda {

/// Throws std::runtime_error that names what failed, a kernel as a rule, and says CUDA's reason.
void check(cudaError_t status, const char* what);
void check(cublasStatus_t status, const char* what);

}  // namespace paragrad::backend::cuda
