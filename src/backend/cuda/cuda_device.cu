#include <memory>
#include <string>
#include <string_view>

#include "backend/cuda/cuda_conveyor.hpp"
#include "backend/cuda/gpu.hpp"
#include "backend/cuda/gpu_blas.hpp"
#include "backend/cuda/pinned_ring.hpp"
#include "backend/grid/grid_device.hpp"

namespace paragrad::backend {

namespace cuda {
namespace {

template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads) run_kernel(const Kernel kernel) {
  __shared__ typename Kernel::Shared shared;
  kernel(grid::Block{blockIdx.x, gridDim.x, Kernel::threads}, shared);
}

/// One stream of a GPU: kernels and products in the order of the calls.
class CudaRuntime {
 public:
  explicit CudaRuntime(std::string_view precision)
      : name_(precision.empty() ? "cuda" : "cuda:" + std::string(precision)),
        gpu_(choose_gpu()),
        precision_(parse_precision(precision)),
        stream_(make_stream()) {}

  std::string_view name() const { return name_; }
  core::Arena allocate(std::size_t count) const { return allocate_on_gpu(gpu_, count); }
  bool is_host() const { return false; }

  bool is_apart(const void* address) const {
    cudaPointerAttributes attributes{};
    check(cudaPointerGetAttributes(&attributes, address), "asking whose memory it is");
    return attributes.type == cudaMemoryTypeDevice;
  }

  template <class Kernel>
  void run(const Kernel& kernel) {
    use();
    run_kernel<<<static_cast<unsigned>(kernel.blocks()), Kernel::threads, 0, stream_.get()>>>(kernel);
    check(cudaGetLastError(), Kernel::name);
  }

  void multiply(const grid::Multiplication& product) {
    use();
    if (blas_ == nullptr) blas_ = std::make_unique<GpuBlas>(gpu_, stream_.get(), precision_);  // many devices only add
    blas_->multiply(product);
  }

  void transfer(std::size_t bytes, const std::byte* from, std::byte* to) {
    use();
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_.get()), "a transfer");
    finish();
  }

  void upload(std::size_t bytes, const std::byte* from, std::byte* to) {
    use();
    uploads_.upload(bytes, from, to, stream_.get());
  }

  std::unique_ptr<Conveyor> make_conveyor() { return std::make_unique<CudaConveyor>(gpu_, stream_.get()); }

  void finish() {
    use();
    check(cudaStreamSynchronize(stream_.get()), "what was called before");
  }

 private:
  /// Of the calling thread: a device is used by many, one after the other.
  void use() const { check(cudaSetDevice(gpu_), "choosing a GPU"); }

  std::string name_;
  int gpu_;
  Precision precision_;
  Stream stream_;
  std::unique_ptr<GpuBlas> blas_;
  PinnedRing uploads_;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<Device> make_cuda(std::string_view precision) {
  return std::make_unique<grid::GridDevice<cuda::CudaRuntime>>(precision);
}

}  // namespace paragrad::backend
