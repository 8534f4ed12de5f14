#include "sim/network/resources.hpp"

#include <algorithm>
#include <functional>

namespace paragrad::sim {
namespace {

constexpr double most_channels = 1e6;

}  // namespace

Resources::Id Resources::add(std::size_t count, double bytes_per_s, std::size_t channels) {
  const auto first = static_cast<Id>(resources_.size());
  for (std::size_t i = 0; i < count; ++i) {
    Resource& resource = resources_.emplace_back();
    if (bytes_per_s > 0) resource.bandwidth = InverseBandwidth(bytes_per_s);
    if (channels == 1) continue;
    resource.channels = static_cast<std::uint32_t>(channels_.size());
    channels_.emplace_back(channels, 0);
  }
  return first;
}

Resources::Id Resources::add_shared(std::size_t count, double bytes_per_s, double message_bytes_per_s) {
  constexpr double rounding = 1e-9;
  if (bytes_per_s == 0 || message_bytes_per_s == 0) return add(count, bytes_per_s);
  const double fitting = std::clamp(bytes_per_s / message_bytes_per_s * (1 + rounding), 1., most_channels);
  const auto channels = static_cast<std::size_t>(fitting);
  return add(count, bytes_per_s / static_cast<double>(channels), channels);
}

void Resources::slow(Id id, Time from, Time until, double factor) {
  Resource& resource = resources_[id];
  if (resource.speed == none) {
    resource.speed = static_cast<std::uint32_t>(speeds_.size());
    speeds_.emplace_back();
  }
  speeds_[resource.speed].slow(from, until, factor);
}

Resources::Use Resources::take(Id id, Time head, std::int64_t bytes, Time at_least) {
  Resource& resource = resources_[id];
  resource.asked = head;
  const Time duration = std::max(resource.bandwidth.time_of(bytes), at_least);
  if (resource.channels == none) {
    const Use taken = use(resource, std::max(head, resource.free), duration);
    if (taken.end < never) resource.busy_ps += static_cast<double>(taken.end - taken.begin);
    resource.free = std::min(never, taken.end + gap_);
    return taken;
  }
  std::vector<Time>& free = channels_[resource.channels];
  std::pop_heap(free.begin(), free.end(), std::greater<>());
  const Use taken = use(resource, std::max(head, free.back()), duration);
  if (taken.end < never) resource.busy_ps += static_cast<double>(taken.end - taken.begin);
  free.back() = std::min(never, taken.end + gap_);
  std::push_heap(free.begin(), free.end(), std::greater<>());
  return taken;
}

Resources::Use Resources::use(const Resource& resource, Time begin, Time duration) const {
  if (resource.speed == none) {
    expect_on_clock(begin + duration);
    return {begin, begin + duration};
  }
  const SpeedProfile& speed = speeds_[resource.speed];
  const Time moving = speed.moving_from(begin);
  return {moving, moving == never ? never : speed.end(moving, duration)};
}

}  // namespace paragrad::sim
