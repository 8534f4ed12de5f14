#include "sim/compute/roofline.hpp"

#include <algorithm>

namespace paragrad::sim {

Time Roofline::duration(const backend::WorkMeter& work) const {
  if (charged_) return static_cast<Time>(work.charged_ps());
  Time total = 0;
  for (std::size_t kind = 0; kind < static_cast<std::size_t>(backend::KernelKind::count); ++kind) {
    const backend::Work& part = work.of(static_cast<backend::KernelKind>(kind));
    const double arithmetic_s = static_cast<double>(part.flops) * seconds_per_flop_;
    const double memory_s = static_cast<double>(part.bytes) * seconds_per_byte_;
    const double launches_ps = static_cast<double>(part.calls) * static_cast<double>(launch_);
    if (launches_ps >= static_cast<double>(never)) return never;
    total = std::min(never, total + static_cast<Time>(part.calls) * launch_);
    total = std::min(never, total + from_seconds(std::max(arithmetic_s, memory_s)));
  }
  return total;
}

}  // namespace paragrad::sim
