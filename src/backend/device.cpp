#include "backend/device.hpp"

#include <cstring>
#include <stdexcept>

#include "backend/kernels/add.hpp"
#include "backend/kernels/copy.hpp"
#include "backend/kernels/squared_norm.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::backend {

double Device::squared_norm(std::span<const float> x) {
  constexpr std::size_t floats = sizeof(double) / sizeof(float);
  if (number_.size() == 0) number_ = allocate(floats);
  auto* const number = reinterpret_cast<double*>(number_.span().data());
  double result = 0;
  upload(std::span<const double>(&result, 1), std::span(number, 1));
  run(SquaredNorm{1, x, number});
  transfer(std::span<const double>(number, 1), std::span(&result, 1));
  return result;
}

void Device::move(std::span<const Move> moves) {
  for (const auto& [from, to, floats, adds] : moves)
    if (adds)
      run(Add{{from, floats}, {to, floats}});
    else
      run(Copy{{from, floats}, {to, floats}});
}

void Device::transfer_bytes(std::span<const std::byte> from, std::span<std::byte> to) {
  expect_size("transfer", "from", from.size(), to.size());
  if (!to.empty()) do_transfer(to.size(), from.data(), to.data());
}

void Device::upload_bytes(std::span<const std::byte> from, std::span<std::byte> to) {
  expect_size("upload", "from", from.size(), to.size());
  if (!to.empty()) do_upload(to.size(), from.data(), to.data());
}

void Device::do_transfer(std::size_t bytes, const std::byte* from, std::byte* to) { std::memcpy(to, from, bytes); }

void Device::decode(const core::Encoding& encoding, std::size_t frame_dim, std::span<const std::byte> stored,
                    std::span<const std::uint32_t> windows, std::span<float> features) {
  const std::size_t width = windows.empty() ? 0 : features.size() / windows.size();
  expect_size("decode", "features", features.size(), width * windows.size());
  if (width > 0) do_decode(encoding, frame_dim, stored, windows, width, features.data());
}

void Device::do_decode(const core::Encoding& encoding, std::size_t frame_dim, std::span<const std::byte> stored,
                       std::span<const std::uint32_t> windows, std::size_t width, float* features) {
  const std::size_t frame_bytes = frame_dim * core::bytes_of(encoding.type);
  for (std::size_t i = 0; i < windows.size(); ++i)
    core::decode(encoding, stored.data() + windows[i] * frame_bytes, {features + i * width, width});
}

std::unique_ptr<CopyStream> Device::make_copy_stream() {
  throw std::logic_error("the device's memory is the host's: it has no copy_stream");
}

std::unique_ptr<DeviceAllreduce> Device::make_allreduce() {
  throw core::ConfigError(
      core::format("the collective 'nccl' needs GPUs, but the device is '{}': choose another collective", name()));
}

void KernelQueue::imagine(KernelId kernel, const CallSize& size, std::uint64_t flops, std::uint64_t bytes) {
  if (computes())
    throw std::logic_error(core::format("a {} without content on a device that computes", kernel_name(kernel)));
  run(HostCall{kernel, size, flops, bytes, nullptr});
}

void KernelQueue::run(const HostCall& call) {
  KernelCost cost{call.size, {}};
  cost.work.add(kernel_kind(call.kernel), call.flops, call.bytes);
  count(call.kernel, cost);
  if (computes()) do_call(call);
}

void KernelQueue::do_call(const HostCall&) {
  throw core::ConfigError(
      "this training runs code that needs arrays in host memory, which its device does not have: give `device` cpu");
}

}  // namespace paragrad::backend
