#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/kernels.hpp"
#include "core/arena.hpp"
#include "data/batch.hpp"
#include "nn/layer.hpp"

namespace paragrad::nn {

enum class Loss { cross_entropy, squared_error, ctc };

/// "cross_entropy", "squared_error" or "ctc". Throws ConfigError.
Loss parse_loss(std::string_view name);

/// Layers, and where their matrices lie in the flat span of a replica's parameters. Shared by all replicas of a process.
struct Network {
  explicit Network(Layers chain);

  std::size_t parameter_count() const { return layout.empty() ? 0 : layout.back().range().end; }
  bool is_recurrent() const {
    return std::ranges::any_of(layers, [](const auto& layer) { return layer->is_recurrent(); });
  }

  Layers layers;
  std::vector<core::Matrix> layout;
};

/// Initial parameters, layer after layer, in host memory: a function of the seed alone.
void initialise(const Layers& layers, std::uint64_t seed, std::span<float> parameters);

/// A chain of layers over flat arenas. The model owns its activations, [max_batch][outputs] of each layer, and no
/// parameters: those of a replica are one span [parameter_count()], layer after layer, and gradients mirror it.
class Model {
 public:
  /// Throws ConfigError if the layers do not fit each other.
  Model(backend::Device& device, std::shared_ptr<const Layers> layers, std::size_t max_batch);
  Model(backend::Device& device, Layers layers, std::size_t max_batch)
      : Model(device, std::make_shared<const Layers>(std::move(layers)), max_batch) {}

  std::size_t layer_count() const { return layers().size(); }
  std::size_t parameter_count() const { return starts_.back(); }
  core::Range range_of(std::size_t layer) const { return {starts_[layer], starts_[layer + 1]}; }
  std::size_t inputs() const { return layers().front()->inputs(); }
  std::size_t outputs() const { return layers().back()->outputs(); }
  std::size_t max_batch() const { return max_batch_; }

  void initialise(std::uint64_t seed, std::span<float> parameters) const { nn::initialise(layers(), seed, parameters); }

  /// Computes the outputs of a minibatch of at most max_batch samples, [rows][outputs()], before any softmax; they last
  /// until loss() or the next pass. The batch's features are used again by backward().
  std::span<const float> forward(std::span<const float> parameters, const data::Batch& batch);

  /// *into, memory of the device, += loss of the outputs just computed; turns them into its gradient.
  void loss(Loss kind, const data::Batch& batch, backend::LossSum* into);

  /// Gradient of the summed (not averaged) loss of the minibatch with respect to all parameters. What `sink` or `ready`
  /// changes in the parameters of a finished layer is not needed any more.
  void backward(std::span<const float> parameters, const data::Batch& batch, GradientSink sink, const GradientReady& ready);

  /// One layer's part of it, for a backward pass in steps: from the last layer to the first, each once.
  void backward_layer(std::size_t layer, std::span<const float> parameters, const data::Batch& batch, GradientSink sink,
                      const GradientReady& ready);

 private:
  const Layers& layers() const { return *layers_; }
  Pass pass(std::size_t layer, std::span<const float> parameters, const data::Batch& batch);
  std::span<const float> input_of(std::size_t layer, const data::Batch& batch);
  std::span<float> outputs_of(std::size_t layer, std::size_t batch);
  std::span<float> delta_of(std::size_t layer, std::size_t batch);

  backend::Device& device_;
  std::shared_ptr<const Layers> layers_;
  std::vector<std::size_t> starts_;             // [layers + 1] where each layer's parameters begin
  std::vector<std::size_t> activation_starts_;  // [layers + 1] and its activations
  std::vector<std::size_t> memory_starts_;      // [layers + 1] and what it keeps for the way back
  std::size_t max_batch_;
  core::Arena memory_;
  core::Arena activations_;            // [layers][max_batch * outputs], each on a cache line of its own
  std::array<core::Arena, 2> deltas_;  // [max_batch * widest hidden layer], used in turn
};

/// A model from its string. Multilayer perceptron: widths joined by '-', n layers of width w as nxw, hidden activation after
/// a colon (sigmoid, tanh or relu; default sigmoid): "784-512-256-10:sigmoid", "440-5x1024-1000:relu". The output layer is
/// affine. Layers of long short-term memory stand between the widths: lstm256 or, in both directions of time, blstm256 (256
/// cells each), projected to 128 outputs as lstm256p128, with peepholes as lstm256+peepholes: "40-5xblstm256-1000". Their
/// samples are frames of sequences. A published network: "zoo:resnet50" (zoo/zoo.hpp). Throws ConfigError that quotes the
/// part it cannot use.
Layers make_layers(const std::string& model);

}  // namespace paragrad::nn
