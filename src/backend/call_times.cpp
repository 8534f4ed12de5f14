#include "backend/call_times.hpp"

#include <stdexcept>

namespace paragrad::backend {

KernelKind kernel_kind(KernelId kernel) {
  switch (kernel) {
#define KERNEL(name, Type, kind, cpu) \
  case KernelId::name:                \
    return KernelKind::kind;
#include "backend/kernels.def"
#undef KERNEL
    case KernelId::count:
      break;
  }
  throw std::logic_error("no kernel has this number");
}

std::optional<KernelId> find_kernel(std::string_view name) {
  for (std::size_t i = 0; i < kernel_count; ++i)
    if (kernel_name(static_cast<KernelId>(i)) == name) return static_cast<KernelId>(i);
  return std::nullopt;
}

}  // namespace paragrad::backend
