#pragma once

#include <cstddef>
#include <span>

#include "backend/activation.hpp"
#include "core/philox.hpp"

namespace paragrad::nn {

/// As backend::initial_weights says for the activation function that follows: uniform in ±sqrt(6/(fan_in+fan_out)) (Glorot
/// and Bengio, AISTATS 2010), four times as wide for sigmoid; normal with variance 2/fan_in for ReLU and its like (He et
/// al., ICCV 2015).
void initialise_weights(backend::Activation next, std::size_t fan_in, std::size_t fan_out, const core::RandomStream& random,
                        std::span<float> weights);

/// Normal with mean 0.
void initialise_normal(double deviation, const core::RandomStream& random, std::span<float> weights);

}  // namespace paragrad::nn
