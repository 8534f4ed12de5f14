#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>

#include "backend/cuda/shared_library.hpp"

namespace paragrad::backend::cuda {

/// The functions of cuBLAS that are used.
struct Cublas {
  const SharedLibrary* library;
  decltype(&cublasCreate_v2) create = library->find("cublasCreate_v2");
  decltype(&cublasDestroy_v2) destroy = library->find("cublasDestroy_v2");
  decltype(&cublasSetStream_v2) set_stream = library->find("cublasSetStream_v2");
  decltype(&cublasSetWorkspace_v2) set_workspace = library->find("cublasSetWorkspace_v2");
  decltype(&cublasGemmEx_64) gemm = library->find("cublasGemmEx_64");
  decltype(&cublasGetStatusString) status_string = library->find("cublasGetStatusString");
};

/// Throws ConfigError if the library is missing.
const Cublas& cublas();

/// The functions of cuBLASLt that are used.
struct CublasLt {
  const SharedLibrary* library;
  decltype(&cublasLtCreate) create = library->find("cublasLtCreate");
  decltype(&cublasLtDestroy) destroy = library->find("cublasLtDestroy");
  decltype(&cublasLtMatmulDescCreate) make_operation = library->find("cublasLtMatmulDescCreate");
  decltype(&cublasLtMatmulDescDestroy) destroy_operation = library->find("cublasLtMatmulDescDestroy");
  decltype(&cublasLtMatmulDescSetAttribute) set_operation = library->find("cublasLtMatmulDescSetAttribute");
  decltype(&cublasLtMatrixLayoutCreate) make_layout = library->find("cublasLtMatrixLayoutCreate");
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout = library->find("cublasLtMatrixLayoutDestroy");
  decltype(&cublasLtMatmulPreferenceCreate) make_preference = library->find("cublasLtMatmulPreferenceCreate");
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference = library->find("cublasLtMatmulPreferenceDestroy");
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference = library->find("cublasLtMatmulPreferenceSetAttribute");
  decltype(&cublasLtMatmulAlgoGetHeuristic) get_heuristic = library->find("cublasLtMatmulAlgoGetHeuristic");
  decltype(&cublasLtMatmul) matmul = library->find("cublasLtMatmul");
};

/// Throws ConfigError if the library is missing.
const CublasLt& cublas_lt();

}  // namespace paragrad::backend::cuda
