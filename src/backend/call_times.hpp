#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "backend/work_meter.hpp"

namespace paragrad::backend {

/// The kernels that a Device offers, from backend/kernels.def.
enum class Kernel : std::size_t {
#define KERNEL(name, kind) name,
#include "backend/kernels.def"
#undef KERNEL
  count
};

inline constexpr std::size_t kernel_count = static_cast<std::size_t>(Kernel::count);

std::string_view kernel_name(Kernel kernel);
std::optional<Kernel> find_kernel(std::string_view name);
KernelKind kernel_kind(Kernel kernel);

/// How large a call is. Of a matrix product: batch, inputs, outputs (of a plain gemm m, k, n). Of a kernel that streams
/// through arrays: bytes, 1, 1.
using CallSize = std::array<std::uint64_t, 3>;

/// What one call of a kernel takes on some device, as measured beforehand. A Device that has been given one adds it up in
/// its meter, call by call.
class CallTimes {
 public:
  virtual ~CallTimes() = default;

  /// `work` is what the meter counts for this call. Never decreases when a size grows.
  virtual std::uint64_t picoseconds(Kernel kernel, const CallSize& size, const WorkMeter& work) const = 0;
};

}  // namespace paragrad::backend
