#pragma once

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

  /// Whether some kernels have been executed.
  bool has_begun() const { return has_begun_; }

 private:
  void do_run(const KernelRef& ref) override;

  Device& device_;
  std::vector<AnyKernel> kernels_;
  bool has_begun_ = false;
};

}  // namespace paragrad::backend
