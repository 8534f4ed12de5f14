#include "nn/layers/table_layer.hpp"

#include <stdexcept>
#include <utility>

#include "backend/kernels/descend.hpp"

namespace paragrad::nn {

using backend::KernelId;

TableLayer::TableLayer(TableRow row, std::size_t inputs) : row_(std::move(row)), inputs_(inputs) {
  for (const core::MatrixShape& matrix : row_.matrices) parameters_ += matrix.size();
}

void TableLayer::initialise(const core::RandomStream&, std::span<float>) const {
  throw std::logic_error("a layer table has no initial weights");
}

// Input, output and weights are read from or written to memory once, however often a convolution uses them.
void TableLayer::product(backend::KernelQueue& queue, KernelId kernel, std::size_t batch) const {
  const std::size_t weights = row_.inner * row_.columns;
  if (weights == 0) return;
  const std::size_t rows = batch * row_.positions;
  queue.imagine(kernel, {rows, row_.inner, row_.columns}, 2 * rows * weights,
                sizeof(float) * (batch * (row_.reads + row_.outputs) + weights));
}

void TableLayer::stream(backend::KernelQueue& queue, KernelId kernel, std::size_t accesses) const {
  const std::size_t bytes = sizeof(float) * accesses;
  if (bytes > 0) queue.imagine(kernel, {bytes, 1, 1}, accesses, bytes);
}

void TableLayer::forward(const Pass& pass) const {
  product(pass.queue, KernelId::affine_forward, pass.rows);
  stream(pass.queue, KernelId::scale, pass.rows * row_.forward_accesses);
}

void TableLayer::backward_input(const Pass& pass, std::span<const float>, backend::Activation, std::span<float>) const {
  product(pass.queue, KernelId::affine_backward_input, pass.rows);
}

void TableLayer::backward_parameters(const Pass& pass, std::span<const float>, GradientSink sink,
                                     const GradientReady& ready) const {
  stream(pass.queue, KernelId::activation_backward, pass.rows * row_.backward_accesses);
  product(pass.queue, KernelId::affine_backward_weights, pass.rows);
  if (parameters_ == 0) return;
  if (sink.descent)
    pass.queue.run(backend::Descend{sink.descent->rate, sink.descent->decay, sink.into, sink.descent->parameters});
  ready({0, parameters_});
}

}  // namespace paragrad::nn
