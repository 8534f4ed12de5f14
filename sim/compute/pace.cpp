#include "sim/compute/pace.hpp"

#include <algorithm>
#include <cmath>

namespace paragrad::sim {

Pace::Pace(const Platform& platform, int rank, int channel)
    : rank_exponent_(0),
      step_sigma_(platform.noise.step_sigma),
      steps_(platform.noise.seed, core::Purpose::platform_noise, 1 + static_cast<std::uint32_t>(rank)),
      first_computation_(static_cast<std::uint64_t>(channel) << 48) {
  const auto id = static_cast<std::uint64_t>(rank);
  if (platform.noise.rank_sigma > 0)
    rank_exponent_ = platform.noise.rank_sigma *
                     std::abs(core::RandomStream(platform.noise.seed, core::Purpose::platform_noise).normal(id));
  for (const Platform::Fault& fault : platform.faults) {
    if (fault.kind != Platform::Fault::Kind::worker || fault.id != rank) continue;
    if (faults_ == nullptr) faults_ = std::make_unique<SpeedProfile>();
    faults_->slow(from_seconds(fault.at_s), end_of(fault), fault.factor);
    if (fault.factor == 0 && end_of(fault) == never) death_ = std::min(death_, from_seconds(fault.at_s));
  }
}

Time Pace::of_computation(Time start, Time nominal, std::uint64_t computation) const {
  double exponent = rank_exponent_;
  if (step_sigma_ > 0) exponent += step_sigma_ * std::abs(steps_.normal(first_computation_ + computation));
  if (exponent > 0) nominal = from_picoseconds(static_cast<double>(nominal) * std::exp(exponent));
  return of_reduction(start, nominal);
}

Time Pace::of_reduction(Time start, Time nominal) const {
  if (faults_ == nullptr) return nominal;
  return std::min(faults_->end(start, nominal), std::max(death_, start)) - start;
}

}  // namespace paragrad::sim
