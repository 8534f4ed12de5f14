#include "backend/kernel_list.hpp"

#include <type_traits>
#include <utility>

namespace paragrad::backend {

void KernelList::do_run(const KernelRef& ref) {
  visit(ref, [&](const auto& kernel) { kernels_.emplace_back(kernel); });
}

void KernelList::execute() {
  has_begun_ = true;
  for (const AnyKernel& any : std::exchange(kernels_, {}))
    std::visit(
        [&](const auto& kernel) {
          if constexpr (!std::is_same_v<decltype(kernel), const std::monostate&>) device_.run(kernel);
        },
        any);
}

double KernelList::squared_norm(std::span<const float> x) {
  count(SquaredNorm::id, SquaredNorm{1, x, nullptr}.cost());
  execute();
  return device_.squared_norm(x);
}

}  // namespace paragrad::backend
