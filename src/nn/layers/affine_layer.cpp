#include "nn/layers/affine_layer.hpp"

#include <algorithm>
#include <cmath>

#include "backend/kernels/affine.hpp"
#include "backend/kernels/bias_gradient.hpp"
#include "backend/kernels/descend.hpp"

namespace paragrad::nn {
namespace {

// Small enough that `ready` finds a panel of the gradient in the L2 cache; each panel packs delta again.
constexpr std::size_t panel_bytes = 1024 * 1024;

}  // namespace

void Affine::initialise(const core::RandomStream& random, std::span<float> parameters) const {
  const double fan_in = static_cast<double>(inputs_), fan_out = static_cast<double>(outputs_);
  const std::size_t weights = inputs_ * outputs_;
  if (f_ == backend::Activation::relu) {
    const double deviation = std::sqrt(2 / fan_in);
    for (std::size_t i = 0; i < weights; ++i) parameters[i] = static_cast<float>(deviation * random.normal(i));
  } else {
    const double limit = std::sqrt(6 / (fan_in + fan_out)) * (f_ == backend::Activation::sigmoid ? 4 : 1);
    for (std::size_t i = 0; i < weights; ++i) parameters[i] = static_cast<float>(limit * (2 * random.uniform(i) - 1));
  }
  std::ranges::fill(parameters.subspan(weights), 0.f);
}

void Affine::forward(const Pass& pass) const {
  const std::size_t weights = inputs_ * outputs_;
  pass.queue.run(backend::AffineForward{pass.rows, inputs_, outputs_, pass.x, pass.parameters.first(weights),
                                        pass.parameters.subspan(weights), f_, pass.y});
}

void Affine::backward_input(const Pass& pass, std::span<const float> delta, backend::Activation f,
                            std::span<float> delta_below) const {
  pass.queue.run(backend::AffineBackwardInput{pass.rows, inputs_, outputs_, delta, pass.parameters.first(inputs_ * outputs_),
                                              pass.x, f, delta_below});
}

void Affine::backward_parameters(const Pass& pass, std::span<const float> delta, GradientSink sink,
                                 const GradientReady& ready) const {
  const std::size_t weights = inputs_ * outputs_;
  const std::size_t rows_per_panel = std::max<std::size_t>(1, panel_bytes / sizeof(float) / outputs_);
  const core::Range bias{weights, weights + outputs_};
  pass.queue.run(backend::BiasGradient{pass.rows, outputs_, delta, sink.keep, bias.of(sink.into)});
  if (sink.descent) {
    const auto& [rate, decay, moving] = *sink.descent;
    pass.queue.run(backend::Descend{rate, decay, bias.of(sink.into), bias.of(moving)});
    pass.queue.run(backend::AffineDescend{pass.rows, inputs_, outputs_, pass.x, delta, sink.keep, rate, decay,
                                          sink.into.first(weights), moving.first(weights)});
    return ready({0, weights + outputs_});
  }
  ready(bias);
  for (std::size_t row = 0; row < inputs_; row += rows_per_panel) {
    const std::size_t rows = std::min(rows_per_panel, inputs_ - row);
    const core::Range panel{row * outputs_, (row + rows) * outputs_};
    pass.queue.run(backend::AffineBackwardWeights{pass.rows, inputs_, outputs_, row, rows, pass.x, delta, sink.keep,
                                                  panel.of(sink.into)});
    ready(panel);
  }
}

}  // namespace paragrad::nn
