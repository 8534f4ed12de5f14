#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/kernels.hpp"
#include "core/layout.hpp"
#include "core/philox.hpp"
#include "core/range.hpp"

namespace paragrad::nn {

/// What becomes of a gradient: into = keep·into + gradient. keep = 0 for the bare gradient; keep = momentum accumulates it
/// straight into the velocity, which saves a pass over memory. With a descent the parameters move in the same pass,
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

/// Told which elements of the gradient are complete. From the last layer to the first, in panels that still lie in cache.
using GradientReady = std::function<void(core::Range)>;

/// A layer's forward and backward pass. Owns no memory: parameters, gradients and activations are spans handed in, so one
/// layer serves any replica. Activations are [batch][outputs()] after the activation function; deltas are the gradient of
/// the loss with respect to the values before it.
class Layer {
 public:
  virtual ~Layer() = default;

  virtual std::size_t inputs() const = 0;
  virtual std::size_t outputs() const = 0;
  virtual std::size_t parameter_count() const = 0;
  virtual std::vector<core::MatrixShape> matrices() const = 0;  ///< that the parameters consist of, in their order
  virtual backend::Activation activation() const = 0;

  /// False for a layer that is a table of costs: it runs on a device that does not compute, and nowhere else.
  virtual bool computable() const { return true; }

  /// A layer of its own that computes some of the outputs: of each matrix it has those rows. Nothing where a layer cannot be
  /// cut like that.
  virtual std::unique_ptr<Layer> part(core::Range /*outputs*/) const { return nullptr; }

  /// Fills host memory [parameter_count()]; the numbers depend on the stream and the position alone.
  virtual void initialise(const core::RandomStream& random, std::span<float> parameters) const = 0;

  virtual void forward(backend::Device& device, std::size_t batch, std::span<const float> parameters,
                       std::span<const float> x, std::span<float> y) const = 0;

  /// delta_below[batch][inputs()] from delta[batch][outputs()]; x is the activation of the layer below and f its function.
  virtual void backward_input(backend::Device& device, std::size_t batch, std::span<const float> parameters,
                              std::span<const float> delta, std::span<const float> x, backend::Activation f,
                              std::span<float> delta_below) const = 0;

  /// Gradient of the parameters; `ready` gets ranges within [0, parameter_count()), and may change the parameters there.
  virtual void backward_parameters(backend::Device& device, std::size_t batch, std::span<const float> x,
                                   std::span<const float> delta, GradientSink sink, const GradientReady& ready) const = 0;
};

/// From input to output. Layers own no memory, so any number of replicas may share them.
using Layers = std::vector<std::unique_ptr<Layer>>;

}  // namespace paragrad::nn
