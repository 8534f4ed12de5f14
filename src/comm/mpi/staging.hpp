#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "backend/kernels.hpp"
#include "core/arena.hpp"

namespace paragrad::comm {

/// Buffers in host memory for messages of a device whose own memory MPI cannot reach. They are kept, so that messages do
/// not pay for fresh pages.
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

  /// In order of their size, so that the smallest that fits is taken.
  void give_back(core::Arena buffer) {
    const auto larger = std::ranges::find_if(spare_, [&](const core::Arena& other) { return other.size() > buffer.size(); });
    spare_.insert(larger, std::move(buffer));
  }

 private:
  std::vector<core::Arena> spare_;
};

}  // namespace paragrad::comm
