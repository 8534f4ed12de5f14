#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/kernels.hpp"
#include "core/arena.hpp"
#include "nn/layer.hpp"
#include "rbm/random_draws.hpp"
#include "rbm/rbm_options.hpp"
#include "rbm/shape.hpp"

namespace paragrad::rbm {

/// A deep belief net is a network in which every hidden layer was a machine first (G. Hinton, S. Osindero and Y. Teh, Neural
/// Computation 18, 2006): one machine after the other learns what those below make of the data (Algorithm 2 of T. Ma's
/// slides), then backpropagation trains the network that they unroll into (Algorithm 3).

/// The machines of a network, one for each hidden layer; the output layer is none. Throws ConfigError, which names `model`,
/// if there is no hidden layer, or one that is no sigmoid layer.
std::vector<Shape> machines_of(const nn::Layers& layers, const std::string& model);

/// The finished machines, as layers of the network that is to be. Owns their activations and no parameters.
class LayersBelow {
 public:
  /// The first `count` of `layers`.
  LayersBelow(backend::Device& device, std::shared_ptr<const nn::Layers> layers, std::size_t count, Activations activations,
              std::size_t max_batch);

  std::size_t parameter_count() const { return starts_.back(); }

  /// From x[rows][inputs] to what the machine above them sees; x itself if there is none below. Valid until the next call.
  std::span<const float> pass(std::span<const float> parameters, std::span<const float> x,
                              std::span<const std::uint32_t> rows, const Draws& draws);

 private:
  const nn::Layer& layer(std::size_t l) const { return *(*layers_)[l]; }

  backend::Device& device_;
  std::shared_ptr<const nn::Layers> layers_;
  Activations activations_;
  std::vector<std::size_t> starts_;     // [count + 1] where each layer's parameters begin
  std::array<core::Arena, 3> buffers_;  // [max_batch][widest]: two in turn, and means of which states are drawn
};

}  // namespace paragrad::rbm
