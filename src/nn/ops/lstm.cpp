#include "nn/ops/lstm.hpp"

#include <algorithm>
#include <cmath>

#include "backend/kernels/affine.hpp"
#include "nn/ops/affine.hpp"
#include "nn/ops/checks.hpp"
#include "nn/pass.hpp"

namespace paragrad::nn {
namespace {

enum : std::size_t { input_weights, input_bias, recurrent_weights };  // the arrays of parameters

/// Fills weights from an input of size `in` to `out` units; `first` random numbers were drawn before.
void draw(const core::RandomStream& random, std::size_t first, std::size_t in, std::size_t out, std::span<float> weights) {
  const double limit = std::sqrt(6 / static_cast<double>(in + out));
  for (float& weight : weights) weight = static_cast<float>(limit * (2 * random.uniform(first++) - 1));
}

template <class Float>
backend::LstmWeightsOf<Float> weights_of(const backend::LstmShape& shape, std::span<Float> all) {
  const std::size_t recurrent = shape.recurrent_size(), peepholes = shape.peephole_size();
  return {all.first(recurrent), all.subspan(recurrent, peepholes), all.subspan(recurrent + peepholes)};
}

backend::LstmMemory memory_of(const Pass& pass) {
  return {pass.memory("gates"), pass.memory("cells"), pass.memory("hidden")};
}

}  // namespace

std::string Lstm::name() const {
  std::string text = shape_.directions == 2 ? "blstm" : shape_.reverse ? "lstm (backward)" : "lstm";
  if (shape_.projected) text += "+projection";
  if (shape_.peepholes) text += "+peepholes";
  return text;
}

std::vector<ValueType> Lstm::infer(Types inputs) const {
  expect_inputs(inputs, 1);
  return {{{shape_.output_width()}}};
}

std::vector<ParameterSpec> Lstm::parameters(Types inputs) const {
  const std::size_t in = inputs[0].size(), cells = shape_.cells, outputs = shape_.outputs;
  const std::size_t first_recurrent = in * shape_.gate_width(), first_projection = first_recurrent + shape_.recurrent_size();
  ParameterSpec recurrent{"recurrent weights", {}, {}};
  recurrent.matrices.insert(recurrent.matrices.end(), shape_.directions, {4 * cells, outputs});
  if (shape_.peepholes) recurrent.matrices.insert(recurrent.matrices.end(), shape_.directions, {3 * cells, 1});
  if (shape_.projected) recurrent.matrices.insert(recurrent.matrices.end(), shape_.directions, {outputs, cells});
  recurrent.initialise = [=, shape = shape_](const core::RandomStream& random, std::span<float> all) {
    const backend::LstmGradients parts = weights_of(shape, all);
    draw(random, first_recurrent, outputs, cells, parts.recurrent);
    std::ranges::fill(parts.peepholes, 0.f);
    draw(random, first_projection, cells, outputs, parts.projection);
  };
  return {{"input weights",
           {{shape_.gate_width(), in}},
           [=](const core::RandomStream& random, std::span<float> all) { draw(random, 0, in, cells, all); }},
          {"bias",
           {{shape_.gate_width(), 1}},
           [directions = shape_.directions, cells](const core::RandomStream&, std::span<float> bias) {
             std::ranges::fill(bias, 0.f);
             for (std::size_t d = 0; d < directions; ++d) std::ranges::fill(bias.subspan((4 * d + 1) * cells, cells), 1.f);
           }},
          recurrent};
}

std::vector<MemorySpec> Lstm::memory(Types) const {
  return {{"gates", shape_.gate_width()}, {"cells", shape_.cell_width()}, {"hidden", shape_.hidden_width()}};
}

std::optional<OpPart> Lstm::part(Types, std::size_t workers, std::size_t index) const {
  if (workers != shape_.directions)
    throw core::ConfigError(
        core::format("has {} direction{} and cannot be split into {} parts: its cells depend on each other "
                     "at every frame",
                     shape_.directions, shape_.directions == 1 ? "" : "s", workers));
  backend::LstmShape own = shape_;
  own.directions = 1;
  own.reverse = index == 1;
  const core::Range gates{index * 4 * shape_.cells, (index + 1) * 4 * shape_.cells};
  std::vector<core::Range> recurrent;  // of two matrices, one for each direction, all of its own
  for (const std::size_t rows :
       {4 * shape_.cells, shape_.peepholes ? 3 * shape_.cells : 0, shape_.projected ? shape_.outputs : 0})
    for (std::size_t d = 0; d < 2 && rows > 0; ++d) recurrent.push_back({0, d == index ? rows : 0});
  return OpPart{OpPart::Kind::outputs, std::make_shared<const Lstm>(own), {{gates}, {gates}, recurrent}};
}

void Lstm::forward(const Pass& pass) const {
  pass.queue().run(backend::AffineForward{pass.rows(), pass.input_type(0).size(), shape_.gate_width(), pass.x(),
                                          pass.parameters(input_weights), pass.parameters(input_bias),
                                          backend::Activation::identity, pass.memory("gates")});
  pass.queue().run(backend::LstmForward{shape_, backend::Steps(pass.active()),
                                        weights_of(shape_, pass.parameters(recurrent_weights)), memory_of(pass), pass.y()});
}

void Lstm::backward_inputs(const Pass& pass) const {
  pass.queue().run(backend::LstmBackward{shape_, backend::Steps(pass.active()),
                                         weights_of(shape_, pass.parameters(recurrent_weights)), memory_of(pass),
                                         pass.dy()});
  affine_input_gradient(pass.queue(), pass.rows(), pass.input_type(0).size(), shape_.gate_width(), pass.memory("gates"),
                        pass.parameters(input_weights), pass.x(), pass.dx());
}

void Lstm::backward_parameters(const Pass& pass) const {
  const GradientSink recurrent = pass.gradient(recurrent_weights);
  pass.queue().run(backend::LstmGradient{shape_, backend::Steps(pass.active()), pass.y(), memory_of(pass), pass.dy(),
                                         recurrent.keep, weights_of(shape_, recurrent.into)});
  descend(pass.queue(), recurrent);
  pass.ready(recurrent_weights);
  AffineGradient{pass.rows(),          pass.input_type(0).size(),    shape_.gate_width(),      pass.x(),
                 pass.memory("gates"), pass.gradient(input_weights), pass.gradient(input_bias)}
      .run(
          pass.queue(), [&](core::Range range) { pass.ready(input_weights, range); },
          [&](core::Range range) { pass.ready(input_bias, range); });
}

}  // namespace paragrad::nn
