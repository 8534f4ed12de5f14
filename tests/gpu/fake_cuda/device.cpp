// The device cuda on fake GPUs: the host runs its kernels.
#include <cstring>

#include "backend/backend_info.hpp"
#include "backend/cuda/runtime.hpp"
#include "backend/gpu_device.hpp"
#include "tests/gpu/fake_cuda/gpu.hpp"

namespace paragrad::backend {
namespace {

template <class GridKernel>
void run(const std::byte* object, std::uint32_t blocks, bool backwards) {
  alignas(GridKernel) std::byte kernel[sizeof(GridKernel)];
  std::memcpy(kernel, object, sizeof kernel);
  gpu_kernels::run_on_host(*reinterpret_cast<const GridKernel*>(kernel), blocks, backwards);
}

struct Played {
  template <class GridKernel>
  static const void* of() {
    static constexpr fake_cuda::Kernel kernel{GridKernel::name, sizeof(GridKernel), &run<GridKernel>};
    return &kernel;
  }
};

}  // namespace

std::string cuda_description() { return "a fake on the host, for tests"; }

std::unique_ptr<Device> make_cuda(std::string_view precision) {
  return std::make_unique<gpu_kernels::GpuDevice<cuda::CudaRuntime<Played>>>(precision);
}

}  // namespace paragrad::backend
