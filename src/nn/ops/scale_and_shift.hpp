#pragma once

#include <algorithm>

#include "nn/op.hpp"

namespace paragrad::nn {

/// The parameters of a normalisation, [2][channels]: ones, by which channels are multiplied, and zeros, which are added.
inline ParameterSpec scale_and_shift(std::size_t channels) {
  const auto initialise = [channels](const core::RandomStream&, std::span<float> parameters) {
    std::ranges::fill(parameters.first(channels), 1.f);
    std::ranges::fill(parameters.subspan(channels), 0.f);
  };
  return {"scale and shift", {{channels, 1}, {channels, 1}}, initialise};
}

}  // namespace paragrad::nn
