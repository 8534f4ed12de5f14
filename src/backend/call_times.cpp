#include "backend/call_times.hpp"

#include <stdexcept>

namespace paragrad::backend {

std::string_view kernel_name(Kernel kernel) {
  switch (kernel) {
#define KERNEL(name, kind) \
  case Kernel::name:       \
    return #name;
#include "backend/kernels.def"
#undef KERNEL
    case Kernel::count:
      break;
  }
  throw std::logic_error("no kernel has this number");
}

KernelKind kernel_kind(Kernel kernel) {
  switch (kernel) {
#define KERNEL(name, kind) \
  case Kernel::name:       \
    return KernelKind::kind;
#include "backend/kernels.def"
#undef KERNEL
    case Kernel::count:
      break;
  }
  throw std::logic_error("no kernel has this number");
}

std::optional<Kernel> find_kernel(std::string_view name) {
  for (std::size_t i = 0; i < kernel_count; ++i)
    if (kernel_name(static_cast<Kernel>(i)) == name) return static_cast<Kernel>(i);
  return std::nullopt;
}

}  // namespace paragrad::backend
