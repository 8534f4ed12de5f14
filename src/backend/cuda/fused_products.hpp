#pragma once

#include <cstddef>
#include <map>
#include <span>

#include "backend/cuda/cublas.hpp"
#include "backend/gpu_kernels/multiplication.hpp"

namespace paragrad::backend::cuda {

/// Products fused with a bias and a function, each a single cuBLASLt kernel. The algorithm is chosen once per shape, so that
/// the same calls give the same bits.
class FusedProducts {
 public:
  explicit FusedProducts(cublasComputeType_t compute_type);
  ~FusedProducts();
  FusedProducts(const FusedProducts&) = delete;
  FusedProducts& operator=(const FusedProducts&) = delete;

  void multiply(const gpu_kernels::Multiplication& product, std::span<std::byte> workspace, cudaStream_t stream);

 private:
  class Plan;
  struct Shape;

  const Plan& plan_of(const gpu_kernels::Multiplication& product, std::size_t workspace_bytes);

  cublasComputeType_t compute_type_;
  cublasLtHandle_t handle_ = nullptr;
  std::map<Shape, Plan> plans_;
};

}  // namespace paragrad::backend::cuda
