#include "rbm/deep_belief_net.hpp"

#include <algorithm>
#include <stdexcept>

#include "backend/kernels/sampling.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::rbm {

std::vector<Shape> machines_of(const nn::Layers& layers, const std::string& model) {
  if (layers.size() < 2) throw core::ConfigError(core::format("model '{}' has no hidden layer to pretrain", model));
  std::vector<Shape> machines;
  for (std::size_t l = 0; l + 1 < layers.size(); ++l) {
    const nn::Layer& layer = *layers[l];
    const Shape shape{layer.inputs(), layer.outputs()};
    if (layer.activation() != backend::Activation::sigmoid || layer.parameter_count() != shape.layer().end)
      throw core::ConfigError(
          core::format("model '{}': layer {} cannot be pretrained as a Boltzmann machine; choose :sigmoid", model, l + 1));
    machines.push_back(shape);
  }
  return machines;
}

LayersBelow::LayersBelow(backend::Device& device, std::shared_ptr<const nn::Layers> layers, std::size_t count,
                         Activations activations, std::size_t max_batch)
    : device_(device), layers_(std::move(layers)), activations_(activations), starts_{0} {
  if (count > layers_->size()) throw std::logic_error("more layers below than there are");
  std::size_t widest = 0;
  for (std::size_t l = 0; l < count; ++l) {
    starts_.push_back(starts_.back() + layer(l).parameter_count());
    widest = std::max(widest, layer(l).outputs());
  }
  const std::size_t used = activations == Activations::sampled ? 3 : 2;
  for (std::size_t b = 0; b < used; ++b) buffers_[b] = device.allocate(max_batch * widest);
}

std::span<const float> LayersBelow::pass(std::span<const float> parameters, std::span<const float> x,
                                         std::span<const std::uint32_t> rows, const Draws& draws) {
  for (std::size_t l = 0; l + 1 < starts_.size(); ++l) {
    const std::size_t units = layer(l).outputs();
    const auto of_layer = parameters.subspan(starts_[l], layer(l).parameter_count());
    const auto y = buffers_[l % 2].span().first(rows.size() * units);
    if (activations_ == Activations::mean) {
      layer(l).forward({.queue = device_, .rows = rows.size(), .parameters = of_layer, .x = x, .y = y});
    } else {
      const auto mean = buffers_[2].span().first(rows.size() * units);
      layer(l).forward({.queue = device_, .rows = rows.size(), .parameters = of_layer, .x = x, .y = mean});
      Draws below = draws;
      below.layer = static_cast<std::uint32_t>(l);
      device_.run(backend::SampleBernoulli{below.stream(core::Purpose::activations_below), rows, units, mean, y});
    }
    x = y;
  }
  return x;
}

}  // namespace paragrad::rbm
