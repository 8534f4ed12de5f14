#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "backend/device.hpp"
#include "core/arena.hpp"

namespace paragrad::comm {

/// Host buffers for the messages of a device whose memory MPI cannot reach. They are reused, so that messages do not pay for
/// fresh pages.
class Staging {
 public:
  /// At least `bytes`; content undefined.
  core::Arena take(const backend::Device& device, std::size_t bytes) {
    const std::size_t floats = (bytes + sizeof(float) - 1) / sizeof(float);
    const auto fits = std::ranges::find_if(spare_, [&](const core::Arena& buffer) { return buffer.size() >= floats; });
    if (fits == spare_.end()) return device.allocate_on_host(floats);
    core::Arena found = std::move(*fits);
    spare_.erase(fits);
    return found;
  }

  /// Sorted by size, so that take() finds the smallest buffer that fits.
  void give_back(core::Arena buffer) {
    const auto larger = std::ranges::find_if(spare_, [&](const core::Arena& other) { return other.size() > buffer.size(); });
    spare_.insert(larger, std::move(buffer));
  }

 private:
  std::vector<core::Arena> spare_;
};

}  // namespace paragrad::comm
