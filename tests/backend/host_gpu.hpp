#pragma once

#include <cstring>
#include <memory>

#include "backend/gpu_device.hpp"

namespace paragrad::backend::testing {

/// Runs the kernels of a GPU on the host; backwards: the last block and the last thread go first.
class HostRuntime {
 public:
  static constexpr std::size_t most_patches = 5000;  // of a few rows in tests

  explicit HostRuntime(bool backwards) : backwards_(backwards) {}
  std::string_view name() const { return "host gpu"; }
  core::Arena allocate(std::size_t count) const { return core::host_arena(count); }
  bool is_host() const { return true; }
  bool is_isolated(const void*) const { return false; }
  bool is_cuda() const { return false; }
  std::string hardware() const { return ""; }
  core::Arena allocate_on_host(std::size_t count) const { return allocate(count); }
  void finish() {}
  void submit() {}
  std::unique_ptr<CopyStream> make_copy_stream(Device&) { return nullptr; }  // none is wanted where memory is the host's
  std::unique_ptr<DeviceAllreduce> make_allreduce(Device&) { return nullptr; }
  void transfer(std::size_t bytes, const std::byte* from, std::byte* to) { std::memcpy(to, from, bytes); }
  void upload(std::size_t bytes, const std::byte* from, std::byte* to) { transfer(bytes, from, to); }

  template <class Kernel>
  void run(const Kernel& kernel) {
    gpu_kernels::run_on_host(kernel, backwards_);
  }

  template <class Branch>
  void side_by_side(std::size_t count, const Branch& branch) {
    for (std::size_t i = 0; i < count; ++i) branch(backwards_ ? count - 1 - i : i);
  }

  bool uses_tensor_cores() const { return true; }
  bool wants_padded(const gpu_kernels::Multiplication&) const { return true; }
  bool has_convolutions() const { return false; }
  bool can_run(const gpu_kernels::PackedConvolution&) const { return false; }
  void convolve(const gpu_kernels::PackedConvolution&) { throw std::logic_error("the host has no library of convolutions"); }
  void multiply(const gpu_kernels::Multiplication& p) {
    const auto at = [](const gpu_kernels::Multiplication::Input& matrix, std::size_t i, std::size_t j) {
      return matrix.transpose == Transpose::no ? matrix.data[i * matrix.row + j] : matrix.data[j * matrix.row + i];
    };
    for (std::size_t i = 0; i < p.m; ++i)
      for (std::size_t j = 0; j < p.n; ++j) {
        float sum = 0;
        for (std::size_t l = 0; l < p.k; ++l) sum += at(p.a, i, l) * at(p.b, l, j);
        float& c = p.c[i * p.c_row + j];
        c = accumulate(sum, p.keep, c);
        if (p.bias != nullptr) c = activate(p.f, c + p.bias[j]);
      }
  }

 private:
  bool backwards_;
};

using HostGpu = gpu_kernels::GpuDevice<HostRuntime>;

/// A device of this program, or the one of host_grid.hpp.
inline std::unique_ptr<Device> any_device(const std::string& name) {
  if (name == "host gpu") return std::make_unique<HostGpu>(false);
  if (name == "host gpu backwards") return std::make_unique<HostGpu>(true);
  return make_device(name);
}

}  // namespace paragrad::backend::testing
