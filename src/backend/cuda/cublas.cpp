#include "backend/cuda/cublas.hpp"

#include "backend/cuda/shared_library.hpp"
#include "core/format.hpp"

namespace paragrad::backend::cuda {
namespace {

/// Found by the dynamic loader, or at the toolkit's location at build time.
SharedLibrary open(const char* name, const char* file, const char* of_toolkit) {
  return SharedLibrary(name, {core::format("{}.so.{}", file, CUBLAS_VER_MAJOR), of_toolkit}, "install the CUDA toolkit");
}

Cublas load_cublas() {
  const SharedLibrary library = open("cuBLAS", "libcublas", PARAGRAD_CUBLAS);
  Cublas found{};
  library.find("cublasCreate_v2", found.create);
  library.find("cublasDestroy_v2", found.destroy);
  library.find("cublasSetStream_v2", found.set_stream);
  library.find("cublasSetWorkspace_v2", found.set_workspace);
  library.find("cublasGemmEx_64", found.gemm);
  library.find("cublasGetStatusString", found.status_string);
  return found;
}

CublasLt load_cublas_lt() {
  const SharedLibrary library = open("cuBLASLt", "libcublasLt", PARAGRAD_CUBLASLT);
  CublasLt found{};
  library.find("cublasLtCreate", found.create);
  library.find("cublasLtDestroy", found.destroy);
  library.find("cublasLtMatmulDescCreate", found.make_operation);
  library.find("cublasLtMatmulDescDestroy", found.destroy_operation);
  library.find("cublasLtMatmulDescSetAttribute", found.set_operation);
  library.find("cublasLtMatrixLayoutCreate", found.make_layout);
  library.find("cublasLtMatrixLayoutDestroy", found.destroy_layout);
  library.find("cublasLtMatmulPreferenceCreate", found.make_preference);
  library.find("cublasLtMatmulPreferenceDestroy", found.destroy_preference);
  library.find("cublasLtMatmulPreferenceSetAttribute", found.set_preference);
  library.find("cublasLtMatmulAlgoGetHeuristic", found.get_heuristic);
  library.find("cublasLtMatmul", found.matmul);
  return found;
}

}  // namespace

const Cublas& cublas() {
  static const Cublas loaded = load_cublas();
  return loaded;
}

const CublasLt& cublas_lt() {
  static const CublasLt loaded = load_cublas_lt();
  return loaded;
}

}  // namespace paragrad::backend::cuda
