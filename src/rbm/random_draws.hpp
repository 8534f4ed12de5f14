#pragma once

#include <cstdint>

#include "core/philox.hpp"

namespace paragrad::rbm {

/// Which random numbers are drawn, before they differ by sample and unit: those of this epoch over the data in the training
/// of this layer. So a sample draws the same numbers in whatever minibatch and on whatever worker.
struct Draws {
  std::uint64_t seed = 1;
  std::uint32_t epoch = 0;
  std::uint32_t layer = 0;
  std::uint32_t layers = 1;  ///< of all machines

  /// The `step`-th of `steps` for this purpose.
  core::RandomStream stream(core::Purpose purpose, std::uint32_t step = 0, std::uint32_t steps = 1) const {
    return {seed, purpose, (epoch * steps + step) * layers + layer};
  }
};

}  // namespace paragrad::rbm
