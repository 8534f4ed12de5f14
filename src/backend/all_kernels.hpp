#pragma once

#include <stdexcept>
#include <variant>

#include "backend/kernel_headers.hpp"  // all files of backend/kernels and backend/update_rules; CMake writes it
#include "backend/kernel_queue.hpp"

namespace paragrad::backend {

/// Calls use(kernel) with the kernel itself.
template <class Use>
void visit(const KernelRef& ref, const Use& use) {
  switch (ref.id) {
#define KERNEL(name, Type, kind, cpu) \
  case KernelId::name:                \
    return use(*static_cast<const Type*>(ref.kernel));
#include "backend/kernels.def"
#undef KERNEL
    case KernelId::count:
      break;
  }
  throw std::logic_error("no kernel has this number");
}

/// Holds any kernel.
using AnyKernel = std::variant<std::monostate
#define KERNEL(name, Type, kind, cpu) , Type
#include "backend/kernels.def"
#undef KERNEL
                               >;

}  // namespace paragrad::backend
