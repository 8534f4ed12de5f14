#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/device.hpp"
#include "nn/model.hpp"
#include "rbm/random_draws.hpp"
#include "rbm/rbm_options.hpp"
#include "rbm/shape.hpp"

namespace paragrad::rbm {

/// A deep belief net is a network whose hidden layers were first trained as RBMs (G. Hinton, S. Osindero and Y. Teh, Neural
/// Computation 18, 2006): one machine after the other is trained on the activations of the machines below (Algorithm 2 of
/// T. Ma's slides), then backpropagation trains the unrolled network (Algorithm 3).

/// The machines of a network, one per hidden layer; the output layer has none. Throws ConfigError, naming `model`, if there
/// is no hidden layer or a hidden layer is not a sigmoid layer.
std::vector<Shape> machines_of(const nn::Graph& network, const std::string& model);

/// The finished machines, as layers of the later network. Owns their activations but no parameters.
class LayersBelow {
 public:
  /// The first `count` layers of a network of `machines` machines.
  LayersBelow(backend::Device& device, const nn::Graph& network, std::size_t count, std::size_t machines,
              Activations activations, std::size_t max_batch);

  std::size_t parameter_count() const { return model_ ? model_->parameter_count() : 0; }

  /// Maps a batch's features to the input of the machine above: the features themselves if there are no layers. Valid until
  /// the next call.
  std::span<const float> pass(backend::KernelQueue& queue, std::span<const float> parameters, const data::Batch& batch,
                              const Draws& draws);

 private:
  std::optional<nn::Model> model_;
};

}  // namespace paragrad::rbm
