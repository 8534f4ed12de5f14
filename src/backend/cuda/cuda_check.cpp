#include "backend/cuda/cuda_check.hpp"

#include <stdexcept>

#include "backend/cuda/cublas.hpp"
#include "core/format.hpp"

namespace paragrad::backend::cuda {

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess)
    throw std::runtime_error(core::format("the GPU failed in '{}': {}", what, cudaGetErrorString(status)));
}

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(core::format("cuBLAS failed in '{}': {}", what, cublas().status_string(status)));
}

}  // namespace paragrad::backend::cuda
