#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace paragrad::backend {

/// What limits a kernel: arithmetic (matrix products) or memory bandwidth (everything that streams through arrays once).
enum class KernelKind : std::size_t { gemm, streaming, count };

/// Counts past 2^64: a fast device does more in a day of simulated time.
using Count = unsigned __int128;

/// Work of one kind: number of kernel calls, floating-point operations, bytes read and written at least once.
struct Work {
  std::uint64_t calls = 0;
  Count flops = 0;
  Count bytes = 0;

  bool operator==(const Work&) const = default;
};

/// Adds up the work of the kernels run by one worker. The simulator's clock is derived from it: from the counts, or from
/// measured times of single calls if the platform has them.
class WorkMeter {
 public:
  void add(KernelKind kind, std::uint64_t flops, std::uint64_t bytes) {
    Work& work = of_[static_cast<std::size_t>(kind)];
    work.calls += 1;
    work.flops += flops;
    work.bytes += bytes;
  }

  /// Time of one call, from the device's CallTimes.
  void charge(std::uint64_t picoseconds) { charged_ps_ += picoseconds; }
  std::uint64_t charged_ps() const { return charged_ps_; }

  /// A training step begins, which may cost time beside its kernels.
  void begin_step() { ++steps_; }
  std::uint64_t steps() const { return steps_; }

  const Work& of(KernelKind kind) const { return of_[static_cast<std::size_t>(kind)]; }

  WorkMeter& operator+=(const WorkMeter& other) { return combine(other, 1); }
  WorkMeter& operator-=(const WorkMeter& other) { return combine(other, ~Count{0}); }
  WorkMeter operator*(std::uint64_t times) const {
    WorkMeter result;
    return result.combine(*this, times);
  }
  bool operator==(const WorkMeter&) const = default;

 private:
  WorkMeter& combine(const WorkMeter& other, Count factor) {
    const auto short_factor = static_cast<std::uint64_t>(factor);
    for (std::size_t kind = 0; kind < of_.size(); ++kind) {
      of_[kind].calls += short_factor * other.of_[kind].calls;
      of_[kind].flops += factor * other.of_[kind].flops;
      of_[kind].bytes += factor * other.of_[kind].bytes;
    }
    charged_ps_ += short_factor * other.charged_ps_;
    steps_ += short_factor * other.steps_;
    return *this;
  }

  std::array<Work, static_cast<std::size_t>(KernelKind::count)> of_{};
  std::uint64_t charged_ps_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace paragrad::backend
