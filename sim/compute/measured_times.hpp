#pragma once

#include <array>
#include <memory>
#include <optional>

#include "backend/call_times.hpp"
#include "sim/compute/roofline.hpp"
#include "sim/platform.hpp"

namespace paragrad::sim {

/// Time of a kernel call from the platform's tables or, for a kernel without a table, from the roofline model, call by call.
class MeasuredTimes final : public backend::CallTimes {
 public:
  explicit MeasuredTimes(const Platform::Device& device);

  std::uint64_t picoseconds(backend::KernelId kernel, const backend::CallSize& size,
                            const backend::WorkMeter& work) const override;

 private:
  std::array<std::optional<KernelTable>, backend::kernel_count> tables_;
  Roofline roofline_;
};

/// Null for a platform without tables.
std::shared_ptr<const backend::CallTimes> measured_times(const Platform::Device& device);

}  // namespace paragrad::sim
