#pragma once

#include <variant>
#include <vector>

#include "backend/all_kernels.hpp"
#include "backend/device.hpp"

namespace paragrad::backend {

/// Keeps kernels for a device, so that their cost is known before they are executed.
class KernelList final : public KernelQueue {
 public:
  explicit KernelList(Device& device) : device_(device) { charge_by(device.call_times()); }

  /// Executes the kernels kept since the last time, in order.
  void execute();

  /// Executes at once, since the host needs the result.
  double squared_norm(std::span<const float> x) override;
  bool computes() const override { return device_.computes(); }

  /// Whether they take longer than handing them to another thread: some microseconds, as long as streaming through a MB.
  bool is_worth_a_thread() const {
    constexpr std::uint64_t worth_a_thread_bytes = 1024 * 1024;
    const WorkMeter& cost = meter();
    return has_host_calls_ || cost.of(KernelKind::streaming).bytes >= worth_a_thread_bytes ||
           cost.of(KernelKind::gemm).calls > 0;
  }

  /// Whether some kernels have been executed.
  bool has_begun() const { return has_begun_; }

 private:
  void do_run(const KernelRef& ref) override;
  void do_call(const HostCall& call) override;

  Device& device_;
  std::vector<std::variant<AnyKernel, HostCall>> calls_;
  bool has_host_calls_ = false;  // whose code may need more stack than a fiber has
  bool has_begun_ = false;
};

}  // namespace paragrad::backend
