#pragma once

#include <optional>
#include <string_view>

#include "backend/cuda/cuda_check.hpp"
#include "backend/cuda/fused_products.hpp"
#include "backend/gpu_kernels/multiplication.hpp"
#include "core/arena.hpp"

namespace paragrad::backend::cuda {

/// Precision of products. All data is stored as float32; tf32 and bf16 round the factors to 10 and 7 bits of mantissa and
/// accumulate in float32.
enum class Precision { fp32, tf32, bf16 };

/// "" (fp32), "tf32" or "bf16". Throws ConfigError.
Precision parse_precision(std::string_view name);

/// cuBLAS on one stream with its own workspace, so that the same calls give the same bits.
class GpuBlas {
 public:
  /// device: owner of the workspace memory.
  GpuBlas(int gpu, const void* device, cudaStream_t stream, Precision precision);
  ~GpuBlas();
  GpuBlas(const GpuBlas&) = delete;
  GpuBlas& operator=(const GpuBlas&) = delete;

  void multiply(const gpu_kernels::Multiplication& product);

 private:
  cudaStream_t stream_;
  core::Arena workspace_;
  cublasHandle_t handle_ = nullptr;
  cublasComputeType_t compute_type_;
  std::optional<FusedProducts> fused_;  // created on first use
};

}  // namespace paragrad::backend::cuda
