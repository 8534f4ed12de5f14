#include "backend/cuda/cublas.hpp"

#include "backend/cuda/shared_library.hpp"
#include "core/format.hpp"

namespace paragrad::backend::cuda {
namespace {

Cublas load() {
  // As the loader finds it, and where the toolkit was.
  const SharedLibrary library("cuBLAS", {core::format("libcublas.so.{}", CUBLAS_VER_MAJOR), PARAGRAD_CUBLAS},
                              "install the CUDA toolkit");
  Cublas found{};
  library.find("cublasCreate_v2", found.create);
  library.find("cublasDestroy_v2", found.destroy);
  library.find("cublasSetStream_v2", found.set_stream);
  library.find("cublasSetWorkspace_v2", found.set_workspace);
  library.find("cublasGemmEx_64", found.gemm);
  library.find("cublasGetStatusString", found.status_string);
  return found;
}

}  // namespace

const Cublas& cublas() {
  static const Cublas loaded = load();
  return loaded;
}

}  // namespace paragrad::backend::cuda
