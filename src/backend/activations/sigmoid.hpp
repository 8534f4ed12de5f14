#pragma once

#include "backend/activation_traits.hpp"

namespace paragrad::backend {

struct Sigmoid {
  static constexpr const char* summary = "1/(1 + exp(-z))";
  static constexpr const char* source = "";
  static constexpr InitialWeights initial_weights = InitialWeights::glorot_wide;
  static constexpr SlopeOf slope_of = SlopeOf::output;

  template <class Real>
  PARAGRAD_HOST_DEVICE static Real value(Real z) {
    return Real(1) / (Real(1) + std::exp(-z));
  }
  template <class Real>
  PARAGRAD_HOST_DEVICE static Real slope(Real y) {
    return y * (Real(1) - y);
  }
};

}  // namespace paragrad::backend
