#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "backend/work_meter.hpp"

namespace paragrad::backend {

/// The names of all kernels, from backend/kernels.def.
enum class KernelId : std::size_t {
#define KERNEL(name, Type, kind, cpu) name,
#include "backend/kernels.def"
#undef KERNEL
  count
};

inline constexpr std::size_t kernel_count = static_cast<std::size_t>(KernelId::count);

/// Its data() ends with a zero.
constexpr std::string_view kernel_name(KernelId kernel) {
  constexpr const char* names[] = {
#define KERNEL(name, Type, kind, cpu) #name,
#include "backend/kernels.def"
#undef KERNEL
  };
  return names[static_cast<std::size_t>(kernel)];
}
std::optional<KernelId> find_kernel(std::string_view name);
KernelKind kernel_kind(KernelId kernel);

/// The size of a call. Matrix product: batch, inputs, outputs (plain gemm: m, k, n). Attention: heads of all sequences,
/// numbers per head and row, pairs of a row and one not after it. Kernel that streams through arrays: bytes, 1, 1.
using CallSize = std::array<std::uint64_t, 3>;

struct KernelCost {
  CallSize size{};
  WorkMeter work;
};

/// Measured times of single kernel calls on some device. A Device with CallTimes adds them up in its meter, call by call.
class CallTimes {
 public:
  virtual ~CallTimes() = default;

  /// `work` is the work counted for this call. The result never decreases when a size grows.
  virtual std::uint64_t picoseconds(KernelId kernel, const CallSize& size, const WorkMeter& work) const = 0;
};

}  // namespace paragrad::backend
