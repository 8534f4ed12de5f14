// OpenBLAS is opened, not linked: it picks its kernels while it loads, and releases older than the processor fall back to
// kernels of 2004 (0.3.21 on Emerald Rapids: 40 instead of 200 GF/s). OPENBLAS_CORETYPE corrects that, if set before.
#include <dlfcn.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): setenv

#include <algorithm>
#include <climits>
#include <stdexcept>
#include <string_view>

#include "backend/cpu/bodies.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::backend::cpu {

namespace {

// From cblas.h, which is not needed otherwise.
constexpr int row_major = 101, plain = 111, transposed = 112;
using Sgemm = void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float* a,
                       int lda, const float* b, int ldb, float beta, float* c, int ldc);
using Text = char* (*)();
using SetThreads = void (*)(int);

struct Blas {
  Sgemm sgemm;
  std::string core;
  std::string configuration;
};

// Its thousands of symbols are its own: RTLD_DEEPBIND finds them there first, instead of after the fifty libraries of the
// program, which takes a quarter of the time. The sanitizers' runtimes refuse that flag.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int loading = RTLD_NOW | RTLD_LOCAL;
#else
constexpr int loading = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

void* open_library() {
  for (const char* file : {"libopenblas.so.0", PARAGRAD_OPENBLAS})
    if (void* library = dlopen(file, loading)) return library;
  throw core::ConfigError(core::format("OpenBLAS cannot be loaded ({}): install libopenblas0", dlerror()));
}

template <class Function>
Function find(void* library, const char* symbol) {
  void* address = dlsym(library, symbol);
  if (address == nullptr)
    throw core::ConfigError(core::format("the OpenBLAS of this system has no {}: install 0.3", symbol));
  return reinterpret_cast<Function>(address);
}

/// The kernels that OpenBLAS should have chosen, empty if its choice is as good as the processor.
std::string better_core(std::string_view chosen) {
#if defined(__x86_64__)
  const auto known = {"Haswell", "Zen", "SkylakeX", "Cooperlake", "Sapphirerapids", "SapphireRapids"};
  if (std::find(known.begin(), known.end(), chosen) != known.end()) return {};
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return "SkylakeX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#else
  static_cast<void>(chosen);
#endif
  return {};
}

Blas load_blas() {
  setenv("OPENBLAS_NUM_THREADS", "1", 0);  // otherwise it starts an unused thread per core
  void* library = open_library();
  const bool user_chose = getenv("OPENBLAS_CORETYPE") != nullptr;
  const std::string wanted = user_chose ? std::string{} : better_core(find<Text>(library, "openblas_get_corename")());
  if (!wanted.empty()) {
    dlclose(library);
    setenv("OPENBLAS_CORETYPE", wanted.c_str(), 0);
    library = open_library();
  }
  find<SetThreads>(library, "openblas_set_num_threads")(1);
  return {find<Sgemm>(library, "cblas_sgemm"), find<Text>(library, "openblas_get_corename")(),
          find<Text>(library, "openblas_get_config")()};
}

const Blas& blas() {
  static const Blas loaded = load_blas();
  return loaded;
}

int blas_int(std::size_t value) {
  if (value > INT_MAX) throw std::logic_error("a matrix dimension exceeds what OpenBLAS can address");
  return static_cast<int>(value);
}

int leading(std::size_t columns) { return blas_int(std::max<std::size_t>(columns, 1)); }

}  // namespace

// On one thread, through the OpenBLAS of the system. Throws ConfigError if the library cannot be loaded.
void run(Workspace&, const Gemm& kernel) {
  const auto& [transpose_a, transpose_b, m, n, k, a, b, keep, c] = kernel;
  const bool ta = transpose_a == Transpose::yes, tb = transpose_b == Transpose::yes;
  blas().sgemm(row_major, ta ? transposed : plain, tb ? transposed : plain, blas_int(m), blas_int(n), blas_int(k), 1.f,
               a.data(), leading(ta ? m : k), b.data(), leading(tb ? k : n), keep, c.data(), leading(n));
}

std::string openblas_description() { return core::format("{}, core {}", blas().configuration, blas().core); }

}  // namespace paragrad::backend::cpu
