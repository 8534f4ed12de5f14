#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/device.hpp"
#include "core/arena.hpp"
#include "nn/layer.hpp"
#include "rbm/random_draws.hpp"
#include "rbm/rbm_options.hpp"
#include "rbm/shape.hpp"

namespace paragrad::rbm {

/// A deep belief net is a network whose hidden layers were first trained as RBMs (G. Hinton, S. Osindero and Y. Teh, Neural
/// Computation 18, 2006): one machine after the other is trained on the activations of the machines below (Algorithm 2 of
/// T. Ma's slides), then backpropagation trains the unrolled network (Algorithm 3).

/// The machines of a network, one per hidden layer; the output layer has none. Throws ConfigError, naming `model`, if there
/// is no hidden layer or a hidden layer is not a sigmoid layer.
std::vector<Shape> machines_of(const nn::Layers& layers, const std::string& model);

/// The finished machines, as layers of the later network. Owns their activations but no parameters.
class LayersBelow {
 public:
  /// The first `count` of `layers`.
  LayersBelow(backend::Device& device, std::shared_ptr<const nn::Layers> layers, std::size_t count, Activations activations,
              std::size_t max_batch);

  std::size_t parameter_count() const { return starts_.back(); }

  /// Maps x[rows][inputs] to the input of the machine above; returns x itself if there are no layers. Valid until the next
  /// call.
  std::span<const float> pass(std::span<const float> parameters, std::span<const float> x,
                              std::span<const std::uint32_t> rows, const Draws& draws);

 private:
  const nn::Layer& layer(std::size_t l) const { return *(*layers_)[l]; }

  backend::Device& device_;
  std::shared_ptr<const nn::Layers> layers_;
  Activations activations_;
  std::vector<std::size_t> starts_;     // [count + 1] where each layer's parameters begin
  std::array<core::Arena, 3> buffers_;  // [max_batch][widest]: two used in turn, and the means from which states are drawn
};

}  // namespace paragrad::rbm
