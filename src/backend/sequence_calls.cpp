// The device's calls on packed sequences; the other calls are in device.cpp.
#include "backend/call_checks.hpp"
#include "backend/kernels.hpp"

namespace paragrad::backend {

namespace {

constexpr std::uint64_t squash_operations = 20;  // an exponential and a division

template <class Weights>
void expect_lstm(const char* kernel, const LstmShape& shape, const Steps& steps, const Weights& weights,
                 const LstmMemory& memory) {
  if (shape.directions < 1 || shape.directions > 2 || (!shape.projected && shape.outputs != shape.cells))
    throw std::logic_error(core::format("{}: no shape of such a layer", kernel));
  expect_size(kernel, "recurrent", weights.recurrent.size(), shape.recurrent_size());
  expect_size(kernel, "peepholes", weights.peepholes.size(), shape.peephole_size());
  expect_size(kernel, "projection", weights.projection.size(), shape.projection_size());
  expect_size(kernel, "gates", memory.gates.size(), steps.frames() * shape.gate_width());
  expect_size(kernel, "cells", memory.cells.size(), steps.frames() * shape.cell_width());
  expect_size(kernel, "hidden", memory.hidden.size(), steps.frames() * shape.hidden_width());
}

}  // namespace

// Its products, and `flops` operations and `accesses` per cell and frame.
void Device::count_lstm(Kernel kernel, const LstmShape& shape, std::uint64_t frames, std::uint64_t flops,
                        std::uint64_t accesses) {
  const std::uint64_t columns = shape.cell_width() * (shape.projected ? 5 : 4);
  WorkMeter work = product(frames, shape.outputs, columns);
  work += streaming(frames * shape.cell_width(), flops, accesses);
  count(kernel, {frames, shape.outputs, columns}, work);
}

void Device::lstm_forward(const LstmShape& shape, std::span<const std::uint32_t> active, const LstmWeights& weights,
                          const LstmMemory& memory, std::span<float> y) {
  const Steps steps(active);
  expect_lstm("lstm_forward", shape, steps, weights, memory);
  expect_size("lstm_forward", "y", y.size(), steps.frames() * shape.output_width());
  count_lstm(Kernel::lstm_forward, shape, steps.frames(), 5 * squash_operations + 4, 10);
  do_lstm_forward(shape, steps, weights, memory, y.data());
}

void Device::lstm_backward(const LstmShape& shape, std::span<const std::uint32_t> active, const LstmWeights& weights,
                           const LstmMemory& memory, std::span<float> dy) {
  const Steps steps(active);
  expect_lstm("lstm_backward", shape, steps, weights, memory);
  expect_size("lstm_backward", "dy", dy.size(), steps.frames() * shape.output_width());
  count_lstm(Kernel::lstm_backward, shape, steps.frames(), squash_operations + 25, 13);
  do_lstm_backward(shape, steps, weights, memory, dy.data());
}

void Device::lstm_gradient(const LstmShape& shape, std::span<const std::uint32_t> active, std::span<const float> y,
                           const LstmMemory& memory, std::span<const float> dy, float keep, const LstmGradients& gradients) {
  const Steps steps(active);
  expect_lstm("lstm_gradient", shape, steps, gradients, memory);
  expect_size("lstm_gradient", "y", y.size(), steps.frames() * shape.output_width());
  expect_size("lstm_gradient", "dy", dy.size(), steps.frames() * shape.output_width());
  count_lstm(Kernel::lstm_gradient, shape, steps.frames(), shape.peepholes ? 6 : 0, shape.peepholes ? 6 : 0);
  do_lstm_gradient(shape, steps, y.data(), memory, dy.data(), keep, gradients);
}

void Device::ctc(std::size_t classes, std::span<const std::uint32_t> active, std::span<const std::int32_t> labels,
                 std::span<float> logits, LossSum* into) {
  const std::size_t frames = Steps(active).frames();
  expect_size("ctc", "labels", labels.size(), frames);
  expect_size("ctc", "logits", logits.size(), frames * classes);
  count_streaming(Kernel::ctc, logits.size(), 8, 4);
  do_ctc(classes, active, labels.data(), logits.data(), into);
}

}  // namespace paragrad::backend
