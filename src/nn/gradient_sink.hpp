#pragma once

#include <functional>
#include <optional>
#include <span>

#include "backend/activation.hpp"
#include "backend/kernel_queue.hpp"
#include "core/range.hpp"

namespace paragrad::nn {

/// Destination of a gradient: into = keep·into + gradient. keep = 0 gives the plain gradient; keep = momentum accumulates
/// directly into the velocity, which saves a pass over memory. With a descent the parameters are updated in the same pass,
/// parameters -= rate·(into += decay·parameters), which saves another.
struct GradientSink {
  struct Descent {
    float rate;
    float decay;
    std::span<float> parameters;
  };

  std::span<float> into;
  float keep = 0;
  std::optional<Descent> descent{};

  GradientSink part(core::Range range) const {
    GradientSink result{range.of(into), keep};
    if (descent) result.descent = Descent{descent->rate, descent->decay, range.of(descent->parameters)};
    return result;
  }
};

/// Called with ranges of the gradient as they are completed: from the last node to the first, in panels still in cache.
using GradientReady = std::function<void(core::Range)>;

/// Updates the parameters of a finished gradient, if the sink says so.
void descend(backend::KernelQueue& queue, const GradientSink& sink);

/// Destination of an input's gradient: into = (keep·into + gradient)∘f'(y). Of several contributions the first has keep 0
/// and the others 1, and only the last has an f: the activation function that is fused into the operation that computed
/// the input y.
struct InputSink {
  std::span<float> into{};  ///< empty: the gradient is not wanted
  float keep = 0;
  backend::Activation f = backend::Activation::identity;
  std::span<const float> y{};

  bool wanted() const { return !into.empty(); }
};

/// into = keep·into + gradient, and the slope.
void add_gradient(backend::KernelQueue& queue, const InputSink& sink, std::span<const float> gradient);

/// The slope alone, when the gradient is in its place.
void apply_slope(backend::KernelQueue& queue, const InputSink& sink);

}  // namespace paragrad::nn
