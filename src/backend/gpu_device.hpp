#pragma once

#include <string>
#include <utility>

#include "backend/all_kernels.hpp"
#include "backend/device.hpp"
#include "backend/gpu_kernel_headers.hpp"  // all files of backend/gpu_kernels; CMake writes it

namespace paragrad::backend::gpu_kernels {

/// A device that uses the kernels of backend/gpu_kernels. The runtime must provide:
///
///   core::Arena allocate(count) const        zeros, in memory described by is_host(), is_isolated() and is_cuda()
///   core::Arena allocate_on_host(count) const
///   std::string hardware() const             as Device's
///   static std::size_t most_patches          elements of scratch memory for a convolution
///   void run(const Kernel&)                  in call order, like multiply; both may be deferred until submit
///   void multiply(const Multiplication&)
///   bool uses_tensor_cores() const           whether products do
///   bool wants_padded(product) const         whether to compute it as a PaddedProduct
///   bool has_convolutions()                  whether there is a library of convolutions
///   bool can_run(const PackedConvolution&)   whether it computes this one; otherwise it is made of products
///   void convolve(const PackedConvolution&)  one that can_run() accepts, in call order
///   void side_by_side(count, branch)         calls branch(i) for each i; the branches' calls may run concurrently
///   void submit(), void finish(), void transfer(bytes, from, to), void upload(bytes, from, to),
///   std::unique_ptr<CopyStream> make_copy_stream(Device&),
///   std::unique_ptr<DeviceAllreduce> make_allreduce(Device&)      as Device's
template <class Runtime>
class GpuDevice : public Device {
 public:
  template <class... Arguments>
  explicit GpuDevice(Arguments&&... arguments) : gpu_(*this, std::forward<Arguments>(arguments)...) {}

  std::string_view name() const override { return gpu_.runtime().name(); }
  core::Arena allocate(std::size_t count) const override { return gpu_.runtime().allocate(count); }
  bool is_host() const override { return gpu_.runtime().is_host(); }
  bool is_isolated(const void* address) const override { return gpu_.runtime().is_isolated(address); }
  bool is_cuda() const override { return gpu_.runtime().is_cuda(); }
  std::string hardware() const override { return gpu_.runtime().hardware(); }
  core::Arena allocate_on_host(std::size_t count) const override { return gpu_.runtime().allocate_on_host(count); }
  void finish() override { gpu_.runtime().finish(); }
  std::unique_ptr<CopyStream> make_copy_stream() override { return gpu_.runtime().make_copy_stream(*this); }
  std::unique_ptr<DeviceAllreduce> make_allreduce() override { return gpu_.runtime().make_allreduce(*this); }
  void submit() override { gpu_.runtime().submit(); }
  void move(std::span<const Move> moves) override {
    while (!moves.empty()) {
      MoveGroup group{};
      const auto some = moves.first(std::min(moves.size(), MoveGroup::most));
      for (const Move& each : some) {
        const std::span<const float> from(each.from, each.floats);
        const std::span<float> to(each.to, each.floats);
        if (each.adds)
          count(Add::id, Add{from, to}.cost());
        else
          count(Copy::id, Copy{from, to}.cost());
        if (each.floats > 0) group.add(each);
      }
      if (group.count > 0) gpu_(group);
      moves = moves.subspan(some.size());
    }
  }

 private:
  void do_transfer(std::size_t bytes, const std::byte* from, std::byte* to) override {
    gpu_.runtime().transfer(bytes, from, to);
  }
  void do_upload(std::size_t bytes, const std::byte* from, std::byte* to) override {
    gpu_.runtime().upload(bytes, from, to);
  }
  void do_decode(const core::Encoding& encoding, std::size_t frame_dim, std::span<const std::byte> stored,
                 std::span<const std::uint32_t> windows, std::size_t width, float* features) override {
    gpu_(Stream<Decode>{windows.size() * width, {encoding, frame_dim, width, stored.data(), windows.data(), features}});
  }
  void do_run(const KernelRef& ref) override {
    visit(ref, [this](const auto& kernel) { gpu_kernels::run(gpu_, kernel); });
  }

  GpuContext<Runtime> gpu_;
};

}  // namespace paragrad::backend::gpu_kernels
