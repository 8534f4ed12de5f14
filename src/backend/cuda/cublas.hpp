#pragma once

#include <cublas_v2.h>

namespace paragrad::backend::cuda {

/// What is used of cuBLAS, opened when it is first wanted: linked, it would take its time and a quarter of a gigabyte of
/// every program that has nothing to do with a GPU.
struct Cublas {
  decltype(&cublasCreate_v2) create;
  decltype(&cublasDestroy_v2) destroy;
  decltype(&cublasSetStream_v2) set_stream;
  decltype(&cublasSetWorkspace_v2) set_workspace;
  decltype(&cublasGemmEx_64) gemm;
  decltype(&cublasGetStatusString) status_string;
};

/// Throws ConfigError where there is none.
const Cublas& cublas();

}  // namespace paragrad::backend::cuda
