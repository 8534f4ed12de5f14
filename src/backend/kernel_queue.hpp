#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "backend/call_times.hpp"

namespace paragrad::backend {

/// A kernel whose type is known by its id only; visit() in backend/all_kernels.hpp restores it.
struct KernelRef {
  KernelId id;
  const void* kernel;
};

/// An operation that has no kernels: a function of the host that reads and writes device memory, with the work to count, as
/// that of a call of `kernel`.
struct HostCall {
  KernelId kernel;
  CallSize size;
  std::uint64_t flops, bytes;
  std::function<void()> function;
};

/// Where kernels go: a Device, which executes them, or a KernelList, which keeps them for later. Both count the work.
class KernelQueue {
 public:
  virtual ~KernelQueue() = default;

  /// Checks and counts a kernel (backend/kernel.hpp), and executes or keeps it.
  template <class Kernel>
  void run(const Kernel& kernel) {
    kernel.check();
    count(Kernel::id, kernel.cost());
    do_run(KernelRef{Kernel::id, &kernel});
  }

  /// Σ x² for the host, which waits for it. 0 on a device without arithmetic.
  virtual double squared_norm(std::span<const float> x) = 0;

  /// Counts a call of `kernel` without making it, for an operation that has costs but no kernels yet. flops and bytes are
  /// given explicitly, because a convolution is a product that reads its input fewer times. Throws logic_error on a device
  /// that computes.
  void imagine(KernelId kernel, const CallSize& size, std::uint64_t flops, std::uint64_t bytes);

  /// The same for code of the host; a device without arithmetic only counts it. Throws ConfigError if the host cannot access
  /// the device's memory.
  void run(const HostCall& call);

  /// False for a device without arithmetic and memory (meta): kernels are only counted, losses are 0, and allocate() returns
  /// addresses without content.
  virtual bool computes() const = 0;

  const WorkMeter& meter() const { return meter_; }
  void begin_step() { meter_.begin_step(); }

  /// From now on `meter` also adds up the time that `times` gives for each call; nullptr: no times.
  void charge_by(std::shared_ptr<const CallTimes> times) { times_ = std::move(times); }
  const std::shared_ptr<const CallTimes>& call_times() const { return times_; }

 protected:
  void count(KernelId kernel, const KernelCost& cost) {
    meter_ += cost.work;
    if (times_) meter_.charge(times_->picoseconds(kernel, cost.size, cost.work));
  }

 private:
  virtual void do_run(const KernelRef& kernel) = 0;
  virtual void do_call(const HostCall& call);  // default: it cannot

  WorkMeter meter_;
  std::shared_ptr<const CallTimes> times_;
};

}  // namespace paragrad::backend
