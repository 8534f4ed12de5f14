#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/kernels.hpp"
#include "core/arena.hpp"
#include "nn/layer.hpp"
#include "rbm/draws.hpp"
#include "rbm/shape.hpp"

namespace paragrad::rbm {

/// A deep belief net is a network in which every hidden layer was a machine first (G. Hinton, S. Osindero and Y. Teh, Neural
/// Computation 18, 2006): one machine after the other learns what those below make of the data (Algorithm 2 of T. Ma's
/// slides), then backpropagation trains the network that they unroll into (Algorithm 3).

/// The machines of a network, one for each hidden layer; the output layer is none. Throws ConfigError, which names `model`,
/// if there is no hidden layer, or one that is no sigmoid layer.
std::vector<Shape> machines_of(const nn::Layers& layers, const std::string& model);

/// What a machine sees of those below it: states that they draw one after the other, as Algorithm 2 has it, or means.
enum class Activations { sampled, mean };

/// "sampled" or "mean". Throws ConfigError.
Activations parse_activations(std::string_view name);

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

/// Where machine `index` lies in the parameters of its network: W and b, as they are.
core::Range place_in_network(std::span<const Shape> machines, std::size_t index);

}  // namespace paragrad::rbm
