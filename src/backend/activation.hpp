#pragma once

#include <cmath>

#include "core/host_device.hpp"

namespace paragrad::backend {

/// Elementwise function after an affine map. Each derivative is a function of the output y alone:
/// identity 1, sigmoid y(1-y), tanh 1-y², relu [y > 0].
enum class Activation { identity, sigmoid, tanh, relu };

template <class Real>
PARAGRAD_HOST_DEVICE Real activate(Activation f, Real z) {
  switch (f) {
    case Activation::sigmoid:
      return Real(1) / (Real(1) + std::exp(-z));
    case Activation::tanh:
      return std::tanh(z);
    case Activation::relu:
      return z < 0 ? Real(0) : z;  // NaN stays NaN
    case Activation::identity:
      break;
  }
  return z;
}

/// f' as a function of y = f(z).
template <class Real>
PARAGRAD_HOST_DEVICE Real slope(Activation f, Real y) {
  switch (f) {
    case Activation::sigmoid:
      return y * (Real(1) - y);
    case Activation::tanh:
      return Real(1) - y * y;
    case Activation::relu:
      return y > 0 ? Real(1) : Real(0);
    case Activation::identity:
      break;
  }
  return Real(1);
}

}  // namespace paragrad::backend
