#include "nn/ops/lstm_frame.hpp"

#include <stdexcept>

#include "nn/ops/checks.hpp"
#include "nn/pass.hpp"

namespace paragrad::nn {
namespace {

using backend::KernelId;

/// A pass over `accesses` activations of each row.
void count_stream(const Pass& pass, KernelId kernel, std::size_t accesses) {
  const std::size_t all = pass.rows() * accesses, bytes = sizeof(float) * all;
  if (bytes > 0) pass.queue().imagine(kernel, {bytes, 1, 1}, all, bytes);
}

void no_weights(const core::RandomStream&, std::span<float>) {
  throw std::logic_error("an operation without kernels has no initial weights");
}

}  // namespace

std::vector<ValueType> LstmFrame::infer(Types inputs) const {
  expect_inputs(inputs, 1);
  return {{{1, 1, cells_}}};
}

/// Weights, biases, three peepholes.
std::vector<ParameterSpec> LstmFrame::parameters(Types inputs) const {
  ParameterSpec spec{"weights", {{4 * cells_, inputs[0].size() + cells_}, {4 * cells_, 1}}, no_weights};
  spec.matrices.insert(spec.matrices.end(), 3, {cells_, 1});
  return {spec};
}

// Input, output and weights are read or written once.
void LstmFrame::product(const Pass& pass, KernelId kernel) const {
  const std::size_t inner = pass.input_type(0).size() + cells_, weights = inner * 4 * cells_;
  pass.queue().imagine(kernel, {pass.rows(), inner, 4 * cells_}, 2 * pass.rows() * weights,
                       sizeof(float) * (pass.rows() * (inner + cells_) + weights));
}

// Gates, cell and output are read and written about twice, once more in the backward pass.
void LstmFrame::forward(const Pass& pass) const {
  product(pass, KernelId::affine_forward);
  count_stream(pass, KernelId::scale, 12 * cells_);
}

void LstmFrame::backward_inputs(const Pass& pass) const {
  if (always_input_gradient_ || pass.dx().wanted()) product(pass, KernelId::affine_backward_input);
}

void LstmFrame::backward_parameters(const Pass& pass) const {
  count_stream(pass, KernelId::activation_backward, 18 * cells_);
  product(pass, KernelId::affine_backward_weights);
  descend(pass.queue(), pass.gradient(0));
  pass.ready(0);
}

}  // namespace paragrad::nn
