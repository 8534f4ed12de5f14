#include "backend/cuda/cublas.hpp"

#include "core/format.hpp"

namespace paragrad::backend::cuda {
namespace {

/// Found by the dynamic loader, or at the toolkit's location at build time.
SharedLibrary open(const char* name, const char* file, const char* of_toolkit) {
  return SharedLibrary(name, {core::format("{}.so.{}", file, CUBLAS_VER_MAJOR), of_toolkit}, "install the CUDA toolkit");
}

}  // namespace

const Cublas& cublas() {
  static const SharedLibrary library = open("cuBLAS", "libcublas", PARAGRAD_CUBLAS);
  static const Cublas loaded{&library};
  return loaded;
}

const CublasLt& cublas_lt() {
  static const SharedLibrary library = open("cuBLASLt", "libcublasLt", PARAGRAD_CUBLASLT);
  static const CublasLt loaded{&library};
  return loaded;
}

}  // namespace paragrad::backend::cuda
