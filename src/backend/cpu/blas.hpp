#pragma once

#include <cstddef>
#include <string>

#include "backend/kernels.hpp"

namespace paragrad::backend::cpu {

/// C[m][n] = A·B + keep·C on one thread, through the OpenBLAS of the system. Layouts as in Device::gemm.
/// Throws ConfigError if the library cannot be loaded.
void blas_gemm(Transpose transpose_a, Transpose transpose_b, std::size_t m, std::size_t n, std::size_t k, const float* a,
               const float* b, float keep, float* c);

/// "OpenBLAS 0.3.21 …, core SkylakeX"
std::string openblas_description();

}  // namespace paragrad::backend::cpu
