#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/activation.hpp"
#include "backend/kernel_queue.hpp"
#include "core/layout.hpp"
#include "core/philox.hpp"
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

/// Called with ranges of the gradient as they are completed: from the last layer to the first, in panels still in cache.
using GradientReady = std::function<void(core::Range)>;

/// One layer's pass over one minibatch, whose rows are samples or frames of sequences.
struct Pass {
  backend::KernelQueue& queue;
  std::size_t rows = 0;
  std::span<const std::uint32_t>
      active{};  ///< number of sequences in each step (backend::Steps); empty: rows are independent
  std::span<const float> parameters{};
  std::span<const float> x{};  ///< [rows][inputs()]
  std::span<float> y{};        ///< [rows][outputs()], after the activation function
  std::span<float> memory{};   ///< rows·memory() floats that the forward pass saves for the backward pass
};

/// A layer's forward and backward pass. Owns no memory: parameters, gradients and activations are passed as spans, so one
/// layer serves all replicas. Deltas, [rows][outputs()], are the gradient of the loss with respect to the values before the
/// activation function.
class Layer {
 public:
  virtual ~Layer() = default;

  virtual std::size_t inputs() const = 0;
  virtual std::size_t outputs() const = 0;
  virtual std::size_t parameter_count() const = 0;
  virtual std::vector<core::MatrixShape> matrices() const = 0;  ///< matrices that make up the parameters, in order
  virtual backend::Activation activation() const = 0;

  /// False for a layer that is only a table of costs; it runs only on a device that does not compute.
  virtual bool computable() const { return true; }

  /// Whether the rows of a minibatch are frames of sequences that depend on each other.
  virtual bool is_recurrent() const { return false; }

  /// A separate layer that computes some of the outputs, with the corresponding rows of each matrix. nullptr if the layer
  /// cannot be split by outputs.
  virtual std::unique_ptr<Layer> part(core::Range /*outputs*/) const { return nullptr; }

  /// Fills host memory [parameter_count()]; the numbers depend only on the stream and the position.
  virtual void initialise(const core::RandomStream& random, std::span<float> parameters) const = 0;

  /// Floats per row that forward() saves in Pass::memory.
  virtual std::size_t memory() const { return 0; }

  virtual void forward(const Pass& pass) const = 0;

  /// First step of the backward pass, before the two below; may change memory and delta. pass.x and pass.y are still the
  /// input and output of forward().
  virtual void backward_state(const Pass& /*pass*/, std::span<float> /*delta*/) const {}

  /// Computes delta_below[rows][inputs()] from delta; f is the activation function of the layer below, whose outputs are
  /// pass.x.
  virtual void backward_input(const Pass& pass, std::span<const float> delta, backend::Activation f,
                              std::span<float> delta_below) const = 0;

  /// Gradient of the parameters; `ready` receives ranges within [0, parameter_count()) and may change the parameters there.
  virtual void backward_parameters(const Pass& pass, std::span<const float> delta, GradientSink sink,
                                   const GradientReady& ready) const = 0;
};

/// Layers from input to output. They own no memory, so any number of replicas may share them.
using Layers = std::vector<std::unique_ptr<Layer>>;

}  // namespace paragrad::nn
