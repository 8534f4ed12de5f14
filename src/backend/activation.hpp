#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "backend/activation_headers.hpp"  // all files of backend/activations; CMake writes it
#include "backend/activation_traits.hpp"
#include "core/host_device.hpp"

namespace paragrad::backend {

/// Elementwise functions y = f(z), from backend/activations.def.
enum class Activation {
  identity,
#define ACTIVATION(name, Type) name,
#include "backend/activations.def"
#undef ACTIVATION
};

template <class Real>
PARAGRAD_HOST_DEVICE Real activate(Activation f, Real z) {
  switch (f) {
#define ACTIVATION(name, Type) \
  case Activation::name:       \
    return Type::value(z);
#include "backend/activations.def"
#undef ACTIVATION
    case Activation::identity:
      break;
  }
  return z;
}

/// Calls `with.template operator()<f>()`: the function becomes a constant inside loops.
template <class With>
PARAGRAD_HOST_DEVICE void with_activation(Activation f, const With& with) {
  switch (f) {
#define ACTIVATION(name, Type) \
  case Activation::name:       \
    return with.template operator()<Activation::name>();
#include "backend/activations.def"
#undef ACTIVATION
    case Activation::identity:
      break;
  }
  with.template operator()<Activation::identity>();
}

/// f', of y or of z: see slope_of().
template <class Real>
PARAGRAD_HOST_DEVICE Real slope(Activation f, Real at) {
  switch (f) {
#define ACTIVATION(name, Type) \
  case Activation::name:       \
    return Type::slope(at);
#include "backend/activations.def"
#undef ACTIVATION
    case Activation::identity:
      break;
  }
  return Real(1);
}

/// What slope() takes. Only a function whose slope follows from its output can be fused into the product before it, and its
/// slope into the gradient's product.
constexpr SlopeOf slope_of(Activation f) {
  switch (f) {
#define ACTIVATION(name, Type) \
  case Activation::name:       \
    return Type::slope_of;
#include "backend/activations.def"
#undef ACTIVATION
    case Activation::identity:
      break;
  }
  return SlopeOf::output;
}

constexpr InitialWeights initial_weights(Activation next) {
  switch (next) {
#define ACTIVATION(name, Type) \
  case Activation::name:       \
    return Type::initial_weights;
#include "backend/activations.def"
#undef ACTIVATION
    case Activation::identity:
      break;
  }
  return InitialWeights::glorot;
}

/// All but the identity.
std::vector<std::string_view> activation_names();
std::string_view activation_name(Activation f);
std::optional<Activation> find_activation(std::string_view name);

}  // namespace paragrad::backend
