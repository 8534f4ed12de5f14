#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/device.hpp"
#include "backend/loss_sum.hpp"
#include "core/arena.hpp"
#include "data/batch.hpp"
#include "nn/layer.hpp"

namespace paragrad::nn {

enum class Loss { cross_entropy, squared_error, ctc };

/// "cross_entropy", "squared_error" or "ctc". Throws ConfigError.
Loss parse_loss(std::string_view name);

/// Layers, and the layout of their matrices in the flat parameters of a replica. Shared by all replicas of a process.
struct Network {
  explicit Network(Layers chain);

  std::size_t parameter_count() const { return layout.empty() ? 0 : layout.back().range().end; }
  bool is_recurrent() const {
    return std::ranges::any_of(layers, [](const auto& layer) { return layer->is_recurrent(); });
  }

  Layers layers;
  std::vector<core::Matrix> layout;
};

/// Sets the initial parameters, layer by layer, in host memory: a function of the seed alone.
void initialise(const Layers& layers, std::uint64_t seed, std::span<float> parameters);

/// A chain of layers over flat arenas. The model owns its activations, [max_batch][outputs] per layer, but no parameters: a
/// replica's parameters are one span [parameter_count()], layer by layer, and gradients have the same layout.
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

  /// Computes the outputs of a minibatch of at most max_batch samples, [rows][outputs()], before any softmax; valid until
  /// loss() or the next pass. backward() reads the batch's features again.
  std::span<const float> forward(std::span<const float> parameters, const data::Batch& batch);

  /// Adds the loss of the current outputs to *into (device memory) and overwrites the outputs with its gradient.
  void loss(Loss kind, const data::Batch& batch, backend::LossSum* into);

  /// Gradient of the summed (not averaged) loss of the minibatch with respect to all parameters. `sink` and `ready` may
  /// change the parameters of a finished layer.
  void backward(std::span<const float> parameters, const data::Batch& batch, GradientSink sink, const GradientReady& ready);

  /// The backward pass of one layer; call it for each layer once, from the last to the first.
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
  std::vector<std::size_t> starts_;             // [layers + 1] start of each layer's parameters
  std::vector<std::size_t> activation_starts_;  // [layers + 1] start of its activations
  std::vector<std::size_t> memory_starts_;      // [layers + 1] start of what it saves for the backward pass
  std::size_t max_batch_;
  core::Arena memory_;
  core::Arena activations_;            // [layers][max_batch * outputs], each aligned to a cache line
  std::array<core::Arena, 2> deltas_;  // [max_batch * widest hidden layer], used in turn
};

/// Makes the layers of a model from its name. Multilayer perceptron: widths joined by '-', n layers of width w as nxw,
/// hidden activation after a colon (sigmoid, tanh or relu; default sigmoid): "784-512-256-10:sigmoid",
/// "440-5x1024-1000:relu". The output layer is affine. LSTM layers are written between the widths: lstm256 or,
/// bidirectional, blstm256 (256 cells per direction), projected to 128 outputs as lstm256p128, with peepholes as
/// lstm256+peepholes: "40-5xblstm256-1000". Their samples are frames of sequences. Published networks: "zoo:resnet50"
/// (zoo/zoo.hpp). Throws ConfigError quoting the part that it cannot parse.
Layers make_layers(const std::string& model);

}  // namespace paragrad::nn
