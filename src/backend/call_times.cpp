#include "backend/call_times.hpp"

namespace paragrad::backend {
namespace {

struct Entry {
  std::string_view name;
  KernelKind kind;
};

constexpr std::array<Entry, kernel_count> entries{{
#define KERNEL(name, kind) {#name, KernelKind::kind},
#include "backend/kernels.def"
#undef KERNEL
}};

}  // namespace

std::string_view kernel_name(Kernel kernel) { return entries[static_cast<std::size_t>(kernel)].name; }

KernelKind kernel_kind(Kernel kernel) { return entries[static_cast<std::size_t>(kernel)].kind; }

std::optional<Kernel> find_kernel(std::string_view name) {
  for (std::size_t i = 0; i < kernel_count; ++i)
    if (entries[i].name == name) return static_cast<Kernel>(i);
  return std::nullopt;
}

}  // namespace paragrad::backend
