#include "nn/model.hpp"

#include <algorithm>

#include "backend/kernels/ctc.hpp"
#include "backend/kernels/losses.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::nn {

Loss parse_loss(std::string_view name) {
  if (name == "cross_entropy") return Loss::cross_entropy;
  if (name == "squared_error") return Loss::squared_error;
  if (name == "ctc") return Loss::ctc;
  throw core::unknown_name("loss", name, {"cross_entropy", "squared_error", "ctc"});
}

Network::Network(Layers chain) : layers(std::move(chain)) {
  std::size_t begin = 0;
  for (const auto& layer : layers)
    for (const core::MatrixShape& shape : layer->matrices()) {
      layout.push_back({begin, shape});
      begin += shape.size();
    }
}

void initialise(const Layers& layers, std::uint64_t seed, std::span<float> parameters) {
  std::size_t begin = 0;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const std::size_t count = layers[l]->parameter_count();
    layers[l]->initialise(core::RandomStream(seed, core::Purpose::initial_weights, static_cast<std::uint32_t>(l)),
                          parameters.subspan(begin, count));
    begin += count;
  }
}

namespace {

/// The next whole number of cache lines.
std::size_t lines(std::size_t floats) {
  constexpr std::size_t line = 64 / sizeof(float);
  return (floats + line - 1) / line * line;
}

}  // namespace

Model::Model(backend::Device& device, std::shared_ptr<const Layers> shared, std::size_t max_batch)
    : device_(device), layers_(std::move(shared)), max_batch_(max_batch) {
  starts_.reserve(layers().size() + 1);
  activation_starts_.reserve(layers().size() + 1);
  starts_.push_back(0);
  activation_starts_.push_back(0);
  memory_starts_.push_back(0);
  std::size_t widest = 0;
  for (std::size_t l = 0; l < layers().size(); ++l) {
    if (l > 0 && layers()[l]->inputs() != layers()[l - 1]->outputs())
      throw core::ConfigError(core::format("layer {} takes {} inputs but the layer below has {} outputs", l + 1,
                                           layers()[l]->inputs(), layers()[l - 1]->outputs()));
    starts_.push_back(starts_.back() + layers()[l]->parameter_count());
    activation_starts_.push_back(activation_starts_.back() + lines(max_batch * layers()[l]->outputs()));
    memory_starts_.push_back(memory_starts_.back() + lines(max_batch * layers()[l]->memory()));
    if (l + 1 < layers().size()) widest = std::max(widest, layers()[l]->outputs());
  }
  activations_ = device_.allocate(activation_starts_.back());
  memory_ = device_.allocate(memory_starts_.back());
  for (core::Arena& delta : deltas_) delta = device_.allocate(max_batch * widest);
}

std::span<const float> Model::input_of(std::size_t layer, const data::Batch& batch) {
  if (layer == 0) return batch.features;
  return outputs_of(layer - 1, batch.size());
}

std::span<float> Model::outputs_of(std::size_t layer, std::size_t batch) {
  return activations_.span().subspan(activation_starts_[layer], batch * layers()[layer]->outputs());
}

std::span<const float> Model::forward(std::span<const float> parameters, const data::Batch& batch) {
  if (batch.size() > max_batch_) throw std::logic_error("a minibatch is larger than the model was made for");
  for (std::size_t l = 0; l < layers().size(); ++l) layers()[l]->forward(pass(l, parameters, batch));
  return outputs_of(layers().size() - 1, batch.size());
}

Pass Model::pass(std::size_t layer, std::span<const float> parameters, const data::Batch& batch) {
  return {.queue = device_,
          .rows = batch.size(),
          .active = batch.active,
          .parameters = range_of(layer).of(parameters),
          .x = input_of(layer, batch),
          .y = outputs_of(layer, batch.size()),
          .memory = memory_.span().subspan(memory_starts_[layer], batch.size() * layers()[layer]->memory())};
}

void Model::loss(Loss kind, const data::Batch& batch, backend::LossSum* into) {
  const auto predicted = outputs_of(layers().size() - 1, batch.size());
  switch (kind) {
    case Loss::cross_entropy:
      return device_.run(backend::SoftmaxCrossEntropy{batch.size(), outputs(), batch.labels, predicted, into});
    case Loss::squared_error:
      return device_.run(backend::SquaredError{batch.size(), outputs(), batch.labels, predicted, into});
    case Loss::ctc:
      return device_.run(backend::Ctc{outputs(), backend::Steps(batch.active), batch.labels, predicted, into});
  }
  throw std::logic_error("no such loss");
}

// The gradient of what a layer computed before its activation function, [batch][outputs].
std::span<float> Model::delta_of(std::size_t layer, std::size_t batch) {
  if (layer + 1 == layers().size()) return outputs_of(layer, batch);
  return deltas_[layer % 2].span().first(batch * layers()[layer]->outputs());
}

void Model::backward(std::span<const float> parameters, const data::Batch& batch, GradientSink sink,
                     const GradientReady& ready) {
  for (std::size_t l = layers().size(); l-- > 0;) backward_layer(l, parameters, batch, sink, ready);
}

void Model::backward_layer(std::size_t l, std::span<const float> parameters, const data::Batch& batch, GradientSink sink,
                           const GradientReady& ready) {
  const Layer& layer = *layers()[l];
  const Pass pass = this->pass(l, parameters, batch);
  const std::span<float> delta = delta_of(l, batch.size());
  layer.backward_state(pass, delta);
  if (l > 0) layer.backward_input(pass, delta, layers()[l - 1]->activation(), delta_of(l - 1, batch.size()));
  layer.backward_parameters(pass, delta, sink.part(range_of(l)), [&, start = starts_[l]](core::Range part) {
    ready({start + part.begin, start + part.end});
  });
}

}  // namespace paragrad::nn
