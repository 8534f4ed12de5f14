#include "backend/cuda/gpu_blas.hpp"

#include "backend/cuda/cublas.hpp"
#include "backend/cuda/gpu.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::backend::cuda {
namespace {

constexpr std::size_t workspace_floats =
    std::size_t{32} * 1024 * 1024 / sizeof(float);  // NVIDIA's recommendation for Hopper

cublasComputeType_t compute_type(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return CUBLAS_COMPUTE_32F;
    case Precision::tf32:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    case Precision::bf16:
      return CUBLAS_COMPUTE_32F_FAST_16BF;
  }
  return CUBLAS_COMPUTE_32F;
}

}  // namespace

Precision parse_precision(std::string_view name) {
  if (name.empty() || name == "fp32") return Precision::fp32;
  if (name == "tf32") return Precision::tf32;
  if (name == "bf16") return Precision::bf16;
  throw core::unknown_name("precision of the device cuda", name, {"fp32", "tf32", "bf16"});
}

GpuBlas::GpuBlas(int gpu, const void* device, cudaStream_t stream, Precision precision)
    : stream_(stream), workspace_(allocate_on_gpu(gpu, device, workspace_floats)), compute_type_(compute_type(precision)) {
  check(cublas().create(&handle_), "starting cuBLAS");
  check(cublas().set_stream(handle_, stream), "cuBLAS's stream");
  check(cublas().set_workspace(handle_, workspace_.span().data(), workspace_floats * sizeof(float)), "cuBLAS's workspace");
}

GpuBlas::~GpuBlas() {
  if (handle_ != nullptr) static_cast<void>(cublas().destroy(handle_));
}

// cuBLAS's matrices are column-major: the row-major C = A·B is its Cᵀ = Bᵀ·Aᵀ, without moving any data.
void GpuBlas::multiply(const gpu_kernels::Multiplication& p) {
  if (p.m == 0 || p.n == 0) return;
  if (p.bias != nullptr) {
    if (!fused_) fused_.emplace(compute_type_);
    return fused_->multiply(p, std::as_writable_bytes(workspace_.span()), stream_);
  }
  const float one = 1;
  const auto integer = [](std::size_t value) { return static_cast<std::int64_t>(value); };
  const auto operation = [](Transpose transpose) { return transpose == Transpose::no ? CUBLAS_OP_N : CUBLAS_OP_T; };
  check(cublas().gemm(handle_, operation(p.b.transpose), operation(p.a.transpose), integer(p.n), integer(p.m), integer(p.k),
                      &one, p.b.data, CUDA_R_32F, integer(p.b.row), p.a.data, CUDA_R_32F, integer(p.a.row), &p.keep, p.c,
                      CUDA_R_32F, integer(p.c_row), compute_type_, CUBLAS_GEMM_DEFAULT),
        "a matrix product");
}

}  // namespace paragrad::backend::cuda
