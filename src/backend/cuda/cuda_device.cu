#include <memory>
#include <string>
#include <string_view>

#include "backend/cuda/cuda_conveyor.hpp"
#include "backend/cuda/gpu.hpp"
#include "backend/cuda/pinned_ring.hpp"
#include "backend/cuda/player.hpp"
#include "backend/grid/grid_device.hpp"

namespace paragrad::backend {

namespace cuda {
namespace {

template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads) run_kernel(const Kernel kernel) {
  __shared__ typename Kernel::Shared shared;
  kernel(grid::Block{blockIdx.x, gridDim.x, Kernel::threads}, shared);
}

/// One GPU: calls in their order, put off until somebody wants them done.
class CudaRuntime {
 public:
  explicit CudaRuntime(std::string_view precision)
      : name_(precision.empty() ? "cuda" : "cuda:" + std::string(precision)),
        gpu_(choose_gpu()),
        player_(gpu_, this, parse_precision(precision)) {}

  std::string_view name() const { return name_; }
  core::Arena allocate(std::size_t count) const { return allocate_on_gpu(gpu_, this, count); }
  core::Arena allocate_on_host(std::size_t count) const { return allocate_pinned(count); }
  bool is_host() const { return false; }
  bool is_cuda() const { return true; }

  bool is_apart(const void* address) const {
    cudaPointerAttributes attributes{};
    check(cudaPointerGetAttributes(&attributes, address), "asking whose memory it is");
    return attributes.type == cudaMemoryTypeDevice;
  }

  template <class Kernel>
  void run(const Kernel& kernel) {
    tape_.add(grid::Launch::of(kernel, reinterpret_cast<const void*>(&run_kernel<Kernel>)));
  }
  void multiply(const grid::Multiplication& product) { tape_.add(product); }

  template <class Branch>
  void side_by_side(std::size_t count, const Branch& branch) {
    tape_.side_by_side(count, branch);
  }

  void submit() {
    check(cudaSetDevice(gpu_), "choosing a GPU");  // of the calling thread: a device is used by many, one after the other
    tape_.play();
  }

  void transfer(std::size_t bytes, const std::byte* from, std::byte* to) {
    submit();
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, player_.stream()), "a transfer");
    finish();
  }

  void upload(std::size_t bytes, const std::byte* from, std::byte* to) {
    submit();
    uploads_.upload(bytes, from, to, player_.stream());
  }

  std::unique_ptr<Conveyor> make_conveyor(Device& device) {
    return std::make_unique<CudaConveyor>(gpu_, player_.stream(), device);
  }

  void finish() {
    submit();
    check(cudaStreamSynchronize(player_.stream()), "what was called before");
  }

 private:
  std::string name_;
  int gpu_;
  CudaPlayer player_;
  grid::Tape tape_{player_};
  PinnedRing uploads_;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<Device> make_cuda(std::string_view precision) {
  return std::make_unique<grid::GridDevice<cuda::CudaRuntime>>(precision);
}

}  // namespace paragrad::backend
