#pragma once

#include <cstdint>

#include "core/philox.hpp"

namespace paragrad::rbm {

/// The key of random draws besides sample and unit: the epoch and the layer being trained. A sample therefore draws the
/// same numbers in every minibatch and on every worker.
struct Draws {
  std::uint64_t seed = 1;
  std::uint32_t epoch = 0;
  std::uint32_t layer = 0;
  std::uint32_t layers = 1;  ///< number of machines

  /// The stream of step `step` out of `steps` for this purpose.
  core::RandomStream stream(core::Purpose purpose, std::uint32_t step = 0, std::uint32_t steps = 1) const {
    return {seed, purpose, (epoch * steps + step) * layers + layer};
  }
};

}  // namespace paragrad::rbm
