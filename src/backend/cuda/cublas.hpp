#pragma once

#include <cublas_v2.h>

namespace paragrad::backend::cuda {

/// The functions of cuBLAS that are used.
struct Cublas {
  decltype(&cublasCreate_v2) create;
  decltype(&cublasDestroy_v2) destroy;
  decltype(&cublasSetStream_v2) set_stream;
  decltype(&cublasSetWorkspace_v2) set_workspace;
  decltype(&cublasGemmEx_64) gemm;
  decltype(&cublasGetStatusString) status_string;
};

/// Throws ConfigError if the library is missing.
const Cublas& cublas();

}  // namespace paragrad::backend::cuda
