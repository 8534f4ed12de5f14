#include "nn/layers/lstm_layer.hpp"

#include <algorithm>
#include <cmath>

#include "backend/kernels/descend.hpp"
#include "backend/kernels/lstm.hpp"

namespace paragrad::nn {

core::Range Lstm::recurrent_range() const {
  const std::size_t begin = input_.parameter_count();
  return {begin, begin + shape_.recurrent_size() + shape_.peephole_size() + shape_.projection_size()};
}

std::size_t Lstm::parameter_count() const { return recurrent_range().end; }

std::vector<core::MatrixShape> Lstm::matrices() const {
  std::vector<core::MatrixShape> all = input_.matrices();
  const std::size_t directions = shape_.directions;
  all.insert(all.end(), directions, {4 * shape_.cells, shape_.outputs});
  if (shape_.peepholes) all.insert(all.end(), directions, {3 * shape_.cells, 1});
  if (shape_.projected) all.insert(all.end(), directions, {shape_.outputs, shape_.cells});
  return all;
}

template <class Float>
backend::LstmWeightsOf<Float> Lstm::weights(std::span<Float> parameters) const {
  const std::span<Float> all = recurrent_range().of(parameters);
  const std::size_t recurrent = shape_.recurrent_size(), peepholes = shape_.peephole_size();
  return {all.first(recurrent), all.subspan(recurrent, peepholes), all.subspan(recurrent + peepholes)};
}

backend::LstmMemory Lstm::memory_of(const Pass& pass) const {
  const std::size_t gates = pass.rows * shape_.gate_width(), cells = pass.rows * shape_.cell_width();
  return {pass.memory.first(gates), pass.memory.subspan(gates, cells), pass.memory.subspan(gates + cells)};
}

// The input's contribution to the gates.
Pass Lstm::of_input(const Pass& pass) const {
  return {.queue = pass.queue,
          .rows = pass.rows,
          .parameters = pass.parameters.first(input_.parameter_count()),
          .x = pass.x,
          .y = memory_of(pass).gates};
}

void Lstm::initialise(const core::RandomStream& random, std::span<float> parameters) const {
  std::ranges::fill(parameters, 0.f);
  std::size_t drawn = 0;
  const auto draw = [&](std::size_t in, std::size_t out, std::span<float> matrix) {
    const double limit = std::sqrt(6 / static_cast<double>(in + out));
    for (float& weight : matrix) weight = static_cast<float>(limit * (2 * random.uniform(drawn++) - 1));
  };
  const std::size_t cells = shape_.cells, input_weights = inputs() * shape_.gate_width();
  draw(inputs(), cells, parameters.first(input_weights));
  for (std::size_t d = 0; d < shape_.directions; ++d)
    std::ranges::fill(parameters.subspan(input_weights + (4 * d + 1) * cells, cells), 1.f);
  const backend::LstmGradients recurrent = weights(parameters);
  draw(shape_.outputs, cells, recurrent.recurrent);
  draw(cells, shape_.outputs, recurrent.projection);
}

void Lstm::forward(const Pass& pass) const {
  input_.forward(of_input(pass));
  pass.queue.run(
      backend::LstmForward{shape_, backend::Steps(pass.active), weights(pass.parameters), memory_of(pass), pass.y});
}

void Lstm::backward_state(const Pass& pass, std::span<float> delta) const {
  pass.queue.run(
      backend::LstmBackward{shape_, backend::Steps(pass.active), weights(pass.parameters), memory_of(pass), delta});
}

void Lstm::backward_input(const Pass& pass, std::span<const float>, backend::Activation f,
                          std::span<float> delta_below) const {
  input_.backward_input(of_input(pass), memory_of(pass).gates, f, delta_below);
}

void Lstm::backward_parameters(const Pass& pass, std::span<const float> delta, GradientSink sink,
                               const GradientReady& ready) const {
  const core::Range recurrent = recurrent_range();
  pass.queue.run(backend::LstmGradient{shape_, backend::Steps(pass.active), pass.y, memory_of(pass), delta, sink.keep,
                                       weights(sink.into)});
  if (sink.descent)
    pass.queue.run(backend::Descend{sink.descent->rate, sink.descent->decay, recurrent.of(sink.into),
                                    recurrent.of(sink.descent->parameters)});
  ready(recurrent);
  const core::Range of_input{0, recurrent.begin};
  input_.backward_parameters(this->of_input(pass), memory_of(pass).gates, sink.part(of_input), ready);
}

}  // namespace paragrad::nn
