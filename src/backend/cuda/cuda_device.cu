#include <memory>
#include <string>
#include <string_view>

#include "backend/backend_info.hpp"
#include "backend/cuda/runtime.hpp"
#include "backend/gpu_device.hpp"

namespace paragrad::backend {

namespace cuda {
namespace {

// __grid_constant__: a kernel may index its arguments without a copy of them in every thread's memory.
template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads) run_kernel(const __grid_constant__ Kernel kernel) {
  __shared__ typename Kernel::Shared shared;
  kernel(gpu_kernels::Block{blockIdx.x, gridDim.x, Kernel::threads}, shared);
}

struct Compiled {
  template <class Kernel>
  static const void* of() {
    return reinterpret_cast<const void*>(&run_kernel<Kernel>);
  }
};

}  // namespace
}  // namespace cuda

std::string cuda_description() {
  return std::to_string(CUDART_VERSION / 1000) + "." + std::to_string(CUDART_VERSION % 1000 / 10);
}

std::unique_ptr<Device> make_cuda(std::string_view precision) {
  return std::make_unique<gpu_kernels::GpuDevice<cuda::CudaRuntime<cuda::Compiled>>>(precision);
}

}  // namespace paragrad::backend
