#pragma once

#include "backend/activation_traits.hpp"

namespace paragrad::backend {

struct Relu {
  static constexpr const char* summary = "max(0, z)";
  static constexpr const char* source = "";
  static constexpr InitialWeights initial_weights = InitialWeights::he;
  static constexpr SlopeOf slope_of = SlopeOf::output;

  template <class Real>
  PARAGRAD_HOST_DEVICE static Real value(Real z) {
    return z < 0 ? Real(0) : z;  // NaN stays NaN
  }
  template <class Real>
  PARAGRAD_HOST_DEVICE static Real slope(Real y) {
    return y > 0 ? Real(1) : Real(0);
  }
};

}  // namespace paragrad::backend
