#pragma once

#include "backend/activation_traits.hpp"

namespace paragrad::backend {

struct Gelu {
  static constexpr const char* summary = "z·Φ(z), with Φ the standard normal distribution function, by erf";
  static constexpr const char* source = "Hendrycks and Gimpel, arXiv 1606.08415";
  static constexpr InitialWeights initial_weights = InitialWeights::he;
  static constexpr SlopeOf slope_of = SlopeOf::input;

  template <class Real>
  PARAGRAD_HOST_DEVICE static Real value(Real z) {
    return z * below(z);
  }
  template <class Real>
  PARAGRAD_HOST_DEVICE static Real slope(Real z) {
    constexpr Real density_at_0 = Real(0.3989422804014327);  // 1/sqrt(2π)
    return below(z) + z * density_at_0 * std::exp(-z * z / 2);
  }

 private:
  template <class Real>
  PARAGRAD_HOST_DEVICE static Real below(Real z) {
    return (1 + std::erf(z * Real(0.7071067811865476))) / 2;
  }
};

}  // namespace paragrad::backend
