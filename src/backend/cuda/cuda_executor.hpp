#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backend/cuda/convolutions.hpp"
#include "backend/cuda/gpu_blas.hpp"
#include "backend/cuda/handles.hpp"
#include "backend/gpu_kernels/command_graph.hpp"

namespace paragrad::backend::cuda {

/// Executes calls on one stream of a GPU, one by one or as a CUDA graph, in which branches run concurrently. With the
/// environment variable CUDA_LAUNCH_BLOCKING=1 all calls run one by one, so that errors name the failing kernel.
class CudaExecutor final : public gpu_kernels::Executor {
 public:
  CudaExecutor(int gpu, const void* device, Precision precision) : gpu_(gpu), device_(device), precision_(precision) {}

  cudaStream_t stream() const { return stream_.get(); }

  /// Whether there is a library of convolutions.
  bool has_convolutions();

  /// Whether it computes this convolution; execute() and record() accept no others.
  bool can_run(const gpu_kernels::PackedConvolution& convolution);
  void execute(const gpu_kernels::Call& call) override;
  std::unique_ptr<gpu_kernels::CommandGraph> record(std::span<const gpu_kernels::Call> calls) override;

 private:
  void count(gpu_kernels::Mark mark) { branch_ = mark == gpu_kernels::Mark::next ? branch_ + 1 : 0; }
  void multiply(const gpu_kernels::Multiplication& product);
  void convolve(const gpu_kernels::PackedConvolution& convolution);
  cudaGraphNode_t add_captured(cudaGraph_t graph, std::span<const cudaGraphNode_t> before, const gpu_kernels::Call& call);

  int gpu_;
  const void* device_;  // owner of the memory used by products
  Precision precision_;
  bool is_blocking_ = launches_block();
  Stream stream_ = make_stream();
  std::size_t branch_ = 0;                      // branch of the next call
  std::vector<std::unique_ptr<GpuBlas>> blas_;  // one per branch with products, each with its own memory
  bool looked_for_convolutions_ = false;
  std::unique_ptr<Convolutions> convolutions_;  // created on first use; null without a library
};

}  // namespace paragrad::backend::cuda
