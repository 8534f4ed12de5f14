#pragma once

#include <cmath>

#include "core/host_device.hpp"

// An activation function, backend/activations/NAME.hpp:
//
//   struct Square {
//     static constexpr const char* summary = "z²";
//     static constexpr const char* source = "";              // a publication
//     static constexpr InitialWeights initial_weights = InitialWeights::glorot;
//     static constexpr SlopeOf slope_of = SlopeOf::input;    // what slope() takes: z, or y = f(z)
//     template <class Real> static Real value(Real z);
//     template <class Real> static Real slope(Real z);
//   };
namespace paragrad::backend {

/// The spread of the initial weights before an activation function: uniform in ±sqrt(6/(in+out)) (Glorot and Bengio, AISTATS
/// 2010), four times as wide for sigmoid; normal with variance 2/in (He et al., ICCV 2015).
enum class InitialWeights { glorot, glorot_wide, he };

enum class SlopeOf { input, output };

}  // namespace paragrad::backend
