#pragma once

#include <string>

#include "backend/all_kernels.hpp"
#include "backend/cpu/product.hpp"
#include "core/arena.hpp"

/// The kernels of which the device cpu has a body of its own (`own` in backend/kernels.def): run() in the file of the
/// kernel's name, or of its family's.
namespace paragrad::backend::cpu {

/// Scratch memory of a device's kernels, kept from call to call.
struct Workspace {
  PackBuffer packed;
  core::Arena lstm, attention;
  core::Arena images, filters, gradients;  // of convolutions
};

/// The library that computes Gemm: "OpenBLAS 0.3.21 …, core SkylakeX"
std::string openblas_description();

#define CPU_BODY_own(Type) void run(Workspace& workspace, const Type& kernel);
#define CPU_BODY_generic(Type)
#define KERNEL(name, Type, kind, cpu) CPU_BODY_##cpu(Type)
#include "backend/kernels.def"
#undef KERNEL
#undef CPU_BODY_generic
#undef CPU_BODY_own

}  // namespace paragrad::backend::cpu
