#include "backend/cuda/cuda_check.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "backend/cuda/cublas.hpp"
#include "core/format.hpp"

namespace paragrad::backend::cuda {

namespace {

/// Whether an error comes from a running kernel, which a later call reports.
bool is_late(cudaError_t status) {
  switch (status) {
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool launches_block() {
  const char* const text = std::getenv("CUDA_LAUNCH_BLOCKING");
  return text != nullptr && std::string_view(text) != "0";
}

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  const bool may_be_another = is_late(status) && !launches_block();
  throw std::runtime_error(core::format("the GPU failed {} '{}'{}: {}", may_be_another ? "at or before" : "in", what,
                                        may_be_another ? " (CUDA_LAUNCH_BLOCKING=1 names the kernel)" : "",
                                        cudaGetErrorString(status)));
}

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(core::format("cuBLAS failed in '{}': {}", what, cublas().status_string(status)));
}

}  // namespace paragrad::backend::cuda
