#include "backend/kernel_list.hpp"

#include <type_traits>
#include <utility>

namespace paragrad::backend {

void KernelList::do_run(const KernelRef& ref) {
  visit(ref, [&](const auto& kernel) { calls_.emplace_back(AnyKernel(kernel)); });
}

void KernelList::do_call(const HostCall& call) {
  has_host_calls_ = true;
  calls_.emplace_back(call);
}

void KernelList::execute() {
  has_begun_ = true;
  const auto run = [&](const auto& kernel) {
    if constexpr (!std::is_same_v<decltype(kernel), const std::monostate&>) device_.run(kernel);
  };
  for (const auto& call : std::exchange(calls_, {}))
    if (const auto* const on_host = std::get_if<HostCall>(&call))
      device_.run(*on_host);
    else
      std::visit(run, std::get<AnyKernel>(call));
}

double KernelList::squared_norm(std::span<const float> x) {
  count(SquaredNorm::id, SquaredNorm{1, x, nullptr}.cost());
  execute();
  return device_.squared_norm(x);
}

}  // namespace paragrad::backend
