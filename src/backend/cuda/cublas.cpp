#include "backend/cuda/cublas.hpp"

#include <dlfcn.h>

#include <string>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::backend::cuda {
namespace {

void* open_library() {
  const std::string name = core::format("libcublas.so.{}", CUBLAS_VER_MAJOR);
  for (const std::string& path : {name, std::string(PARAGRAD_CUBLAS)})  // as the loader finds it, and where the toolkit was
    if (void* library = dlopen(path.c_str(), RTLD_NOW)) return library;
  throw core::ConfigError(
      core::format("device 'cuda': {} cannot be opened ({}): install the CUDA toolkit", name, dlerror()));
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) throw core::ConfigError(core::format("device 'cuda': this cuBLAS has no {}", name));
}

Cublas load() {
  void* const library = open_library();
  Cublas found{};
  find(library, "cublasCreate_v2", found.create);
  find(library, "cublasDestroy_v2", found.destroy);
  find(library, "cublasSetStream_v2", found.set_stream);
  find(library, "cublasSetWorkspace_v2", found.set_workspace);
  find(library, "cublasGemmEx_64", found.gemm);
  find(library, "cublasGetStatusString", found.status_string);
  return found;
}

}  // namespace

const Cublas& cublas() {
  static const Cublas loaded = load();
  return loaded;
}

}  // namespace paragrad::backend::cuda
