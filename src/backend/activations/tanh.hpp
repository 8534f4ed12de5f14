#pragma once

#include "backend/activation_traits.hpp"

namespace paragrad::backend {

struct Tanh {
  static constexpr const char* summary = "hyperbolic tangent";
  static constexpr const char* source = "";
  static constexpr InitialWeights initial_weights = InitialWeights::glorot;
  static constexpr SlopeOf slope_of = SlopeOf::output;

  template <class Real>
  PARAGRAD_HOST_DEVICE static Real value(Real z) {
    return std::tanh(z);
  }
  template <class Real>
  PARAGRAD_HOST_DEVICE static Real slope(Real y) {
    return Real(1) - y * y;
  }
};

}  // namespace paragrad::backend
