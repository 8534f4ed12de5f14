#pragma once

#include "backend/activation_traits.hpp"

namespace paragrad::backend {

struct Silu {
  static constexpr const char* summary = "z·σ(z), with σ the logistic function; also called swish";
  static constexpr const char* source = "Hendrycks and Gimpel, arXiv 1606.08415; Elfwing et al., arXiv 1702.03118";
  static constexpr InitialWeights initial_weights = InitialWeights::he;
  static constexpr SlopeOf slope_of = SlopeOf::input;

  template <class Real>
  PARAGRAD_HOST_DEVICE static Real value(Real z) {
    return z / (1 + std::exp(-z));
  }
  template <class Real>
  PARAGRAD_HOST_DEVICE static Real slope(Real z) {
    const Real gate = 1 / (1 + std::exp(-z));
    return gate * (1 + z * (1 - gate));
  }
};

}  // namespace paragrad::backend
