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

/// One layer over one minibatch: its rows are samples, or frames of sequences.
struct Pass {
  backend::Device& device;
  std::size_t rows = 0;
  std::span<const std::uint32_t> active{};  ///< sequences that have each step (backend::Steps); nothing: rows stand alone
  std::span<const float> parameters{};
  std::span<const float> x{};  ///< [rows][inputs()]
  std::span<float> y{};        ///< [rows][outputs()], after the activation function
  std::span<float> memory{};   ///< rows·memory() floats that the way forward leaves for the way back
};

/// A layer's forward and backward pass. Owns no memory: parameters, gradients and activations are spans handed in, so one
/// layer serves any replica. Deltas, [rows][outputs()], are the gradient of the loss with respect to the values before the
/// activation function.
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

  /// Whether rows of a minibatch are frames of sequences, and depend on each other.
  virtual bool is_recurrent() const { return false; }

  /// A layer of its own that computes some of the outputs: of each matrix it has those rows. Nothing where a layer cannot be
  /// cut like that.
  virtual std::unique_ptr<Layer> part(core::Range /*outputs*/) const { return nullptr; }

  /// Fills host memory [parameter_count()]; the numbers depend on the stream and the position alone.
  virtual void initialise(const core::RandomStream& random, std::span<float> parameters) const = 0;

  /// Floats per row that forward() leaves in Pass::memory.
  virtual std::size_t memory() const { return 0; }

  virtual void forward(const Pass& pass) const = 0;

  /// The way back begins: what has to be done before the two that follow, in memory and delta. pass.x and pass.y are still
  /// what forward() took and gave.
  virtual void backward_state(const Pass& /*pass*/, std::span<float> /*delta*/) const {}

  /// delta_below[rows][inputs()] from delta; f is the activation function of the layer below, whose values are pass.x.
  virtual void backward_input(const Pass& pass, std::span<const float> delta, backend::Activation f,
                              std::span<float> delta_below) const = 0;

  /// Gradient of the parameters; `ready` gets ranges within [0, parameter_count()), and may change the parameters there.
  virtual void backward_parameters(const Pass& pass, std::span<const float> delta, GradientSink sink,
                                   const GradientReady& ready) const = 0;
};

/// From input to output. Layers own no memory, so any number of replicas may share them.
using Layers = std::vector<std::unique_ptr<Layer>>;

}  // namespace paragrad::nn
