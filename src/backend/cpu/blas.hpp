#pragma once

#include <string>

namespace paragrad::backend::cpu {

/// The library that computes Gemm: "OpenBLAS 0.3.21 …, core SkylakeX"
std::string openblas_description();

}  // namespace paragrad::backend::cpu
