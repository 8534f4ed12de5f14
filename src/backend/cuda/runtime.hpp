#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backend/cuda/cuda_copy_stream.hpp"
#include "backend/cuda/cuda_executor.hpp"
#include "backend/cuda/gpu.hpp"
#include "backend/cuda/nccl_allreduce.hpp"
#include "backend/cuda/pinned_ring.hpp"
#include "backend/gpu_kernels/command_graph.hpp"
#include "backend/gpu_kernels/grid.hpp"
#include "backend/gpu_kernels/padded_product.hpp"

namespace paragrad::backend::cuda {

/// One GPU: executes calls in order, deferred until they are needed. Entry::of<Kernel>() is the kernel's entry point for
/// cudaLaunchKernel, whose only argument is the kernel object.
template <class Entry>
class CudaRuntime {
 public:
  static constexpr std::size_t most_patches = std::size_t{1} << 25;  // 128 MiB: products of tens of thousands of rows

  explicit CudaRuntime(std::string_view precision)
      : name_(precision.empty() ? "cuda" : "cuda:" + std::string(precision)),
        gpu_(choose_gpu()),
        precision_(parse_precision(precision)),
        executor_(gpu_, this, precision_),
        uploads_(gpu_) {}

  std::string_view name() const { return name_; }
  core::Arena allocate(std::size_t count) const { return allocate_on_gpu(gpu_, this, count); }
  core::Arena allocate_on_host(std::size_t count) const { return allocate_pinned(gpu_, count); }
  bool is_host() const { return false; }
  bool is_cuda() const { return true; }
  std::string hardware() const { return describe_gpu(gpu_); }

  bool is_isolated(const void* address) const { return is_on_gpu(address); }

  template <class Kernel>
  void run(const Kernel& kernel) {
    queue_.add(gpu_kernels::Launch::of(kernel, Entry::template of<Kernel>()));
  }
  void multiply(const gpu_kernels::Multiplication& product) { queue_.add(product); }
  bool uses_tensor_cores() const { return precision_ != Precision::fp32; }
  bool wants_padded(const gpu_kernels::Multiplication& product) const {
    return uses_tensor_cores() && gpu_kernels::PaddedProduct::pays(product);
  }
  bool has_convolutions() {
    use_gpu(gpu_);
    return executor_.has_convolutions();
  }
  bool can_run(const gpu_kernels::PackedConvolution& convolution) {
    use_gpu(gpu_);
    return executor_.can_run(convolution);
  }
  void convolve(const gpu_kernels::PackedConvolution& convolution) { queue_.add(convolution); }

  template <class Branch>
  void side_by_side(std::size_t count, const Branch& branch) {
    queue_.side_by_side(count, branch);
  }

  void submit() {
    use_gpu(gpu_);
    queue_.submit();
  }

  void transfer(std::size_t bytes, const std::byte* from, std::byte* to) {
    submit();
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, executor_.stream()), "a transfer");
    finish();
  }

  void upload(std::size_t bytes, const std::byte* from, std::byte* to) {
    submit();
    uploads_.upload(bytes, from, to, executor_.stream());
  }

  std::unique_ptr<CopyStream> make_copy_stream(Device& device) {
    return std::make_unique<CudaCopyStream>(gpu_, executor_.stream(), device);
  }

  std::unique_ptr<DeviceAllreduce> make_allreduce(Device& device) {
    return make_nccl_allreduce(gpu_, executor_.stream(), device);
  }

  void finish() {
    submit();
    check(cudaStreamSynchronize(executor_.stream()), "synchronisation");
  }

 private:
  std::string name_;
  int gpu_;
  Precision precision_;
  CudaExecutor executor_;
  gpu_kernels::CommandQueue queue_{executor_};
  PinnedRing uploads_;
};

}  // namespace paragrad::backend::cuda
