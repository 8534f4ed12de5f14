#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <unordered_map>

#include "backend/device.hpp"
#include "backend/kernels/add.hpp"
#include "sim/compute/measured_times.hpp"
#include "sim/compute/roofline.hpp"
#include "sim/platform.hpp"

namespace paragrad::sim {

/// Times of computations that are known before they happen.
class ForeseenTimes {
 public:
  explicit ForeseenTimes(const Platform& platform)
      : platform_(platform), roofline_(platform.device), call_times_(measured_times(platform.device)) {
    counting_->charge_by(call_times_);
  }

  /// What every device charges for calls.
  const std::shared_ptr<const backend::CallTimes>& call_times() const { return call_times_; }

  /// Of a worker's kernels, by `scale` longer, and of the steps they belong to; without noise.
  Time without_noise(const backend::WorkMeter& work, double scale = 1) const {
    const Time kernels = roofline_.duration(work);
    const Time scaled = scale == 1 ? kernels : from_picoseconds(static_cast<double>(kernels) * scale);
    const double steps_s = static_cast<double>(work.steps()) * platform_.program.step_cost_s;
    return steps_s == 0 ? scaled : std::min(never, scaled + from_seconds(steps_s));
  }

  /// Of kernels of a collective, without noise.
  Time in_collective(const backend::WorkMeter& work) const {
    const Time kernels = roofline_.duration(work);
    if (platform_.reduction.launches) return kernels;
    double calls = 0;
    for (std::size_t kind = 0; kind < static_cast<std::size_t>(backend::KernelKind::count); ++kind)
      calls += static_cast<double>(work.of(static_cast<backend::KernelKind>(kind)).calls);
    return std::max<Time>(0, kernels - from_seconds(calls * platform_.device.launch_s));
  }

  /// The same; nothing if noise makes every computation's its own.
  std::optional<Time> of_collective(const backend::WorkMeter& work) const {
    if (platform_.noise.rank_sigma > 0 || platform_.noise.step_sigma > 0) return std::nullopt;
    return in_collective(work);
  }

  /// Of adding `floats` floats on a device, in a collective.
  Time of_sum(std::size_t floats) {
    const auto [found, is_new] = of_sums_.try_emplace(floats);
    if (!is_new) return found->second;
    core::Arena data = counting_->allocate(floats);
    const backend::WorkMeter before = counting_->meter();
    counting_->run(backend::Add{data.span(), data.span()});
    backend::WorkMeter work = counting_->meter();
    work -= before;
    return found->second = in_collective(work);
  }

 private:
  const Platform& platform_;
  Roofline roofline_;
  std::shared_ptr<const backend::CallTimes> call_times_;
  std::unique_ptr<backend::Device> counting_ = backend::make_device("meta");
  std::unordered_map<std::size_t, Time> of_sums_;  // a cache; looked up only, never iterated
};

}  // namespace paragrad::sim
