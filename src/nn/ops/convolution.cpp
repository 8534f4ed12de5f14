#include "nn/ops/convolution.hpp"

#include <algorithm>
#include <stdexcept>

#include "nn/ops/checks.hpp"
#include "nn/pass.hpp"

namespace paragrad::nn {
namespace {

using backend::KernelId;

std::size_t steps(std::size_t length, std::size_t window, const Filter& filter) {
  if (filter.padding == Padding::same) return (length + filter.stride - 1) / filter.stride;
  if (window > length) throw core::ConfigError(core::format("has a filter of {} for an image of {}", window, length));
  return (length - window) / filter.stride + 1;
}

/// A matrix product of rows·inner·columns multiplications. Input, output and weights are read from or written to memory
/// once, however often a convolution uses them.
void count_product(const Pass& pass, KernelId kernel, std::size_t positions, std::size_t inner, std::size_t columns,
                   std::size_t reads, std::size_t outputs) {
  const std::size_t rows = pass.rows() * positions, weights = inner * columns;
  pass.queue().imagine(kernel, {rows, inner, columns}, 2 * rows * weights,
                       sizeof(float) * (pass.rows() * (reads + outputs) + weights));
}

/// A pass over `accesses` activations of each row.
void count_stream(const Pass& pass, KernelId kernel, std::size_t accesses) {
  const std::size_t all = pass.rows() * accesses, bytes = sizeof(float) * all;
  if (bytes > 0) pass.queue().imagine(kernel, {bytes, 1, 1}, all, bytes);
}

void no_weights(const core::RandomStream&, std::span<float>) {
  throw std::logic_error("an operation without kernels has no initial weights");
}

void finish(const Pass& pass) {
  descend(pass.queue(), pass.gradient(0));
  pass.ready(0);
}

}  // namespace

ValueType filtered(const ValueType& from, std::size_t channels, const Filter& filter) {
  const Image image = expect_image(from);
  return {{channels, steps(image.height, filter.height, filter), steps(image.width, filter.width, filter)}};
}

// ---- convolution ----

std::string Convolution::name() const {
  return with_function(core::format("convolution {}x{}{}", filter_.height, filter_.width,
                                    filter_.stride == 1 ? "" : core::format("/{}", filter_.stride)),
                       f_);
}

std::vector<ValueType> Convolution::infer(Types inputs) const {
  expect_inputs(inputs, 1);
  return {filtered(inputs[0], channels_, filter_)};
}

std::vector<ParameterSpec> Convolution::parameters(Types inputs) const {
  const std::size_t inner = expect_image(inputs[0]).channels * filter_.height * filter_.width;
  ParameterSpec spec{bias_ ? "filters and bias" : "filters", {{channels_, inner}}, no_weights};
  if (bias_) spec.matrices.push_back({channels_, 1});
  return {spec};
}

std::shared_ptr<const Op> Convolution::with_activation(backend::Activation f) const {
  if (f_ != backend::Activation::identity) return nullptr;
  return std::make_shared<const Convolution>(channels_, filter_, bias_, f);
}

void Convolution::product(const Pass& pass, KernelId kernel) const {
  const Image from = expect_image(pass.input_type(0)), to = expect_image(pass.output_type(0));
  count_product(pass, kernel, to.positions(), from.channels * filter_.height * filter_.width, channels_, from.size(),
                to.size());
}

// With a bias one more pass adds it and applies an activation function. The backward pass reads two and writes one for the
// function, and reads one for the bias.
void Convolution::forward(const Pass& pass) const {
  product(pass, KernelId::affine_forward);
  if (bias_) count_stream(pass, KernelId::scale, 2 * pass.output_type(0).size());
}

void Convolution::backward_inputs(const Pass& pass) const {
  if (pass.dx().wanted()) product(pass, KernelId::affine_backward_input);
}

void Convolution::backward_parameters(const Pass& pass) const {
  if (bias_) count_stream(pass, KernelId::activation_backward, 4 * pass.output_type(0).size());
  product(pass, KernelId::affine_backward_weights);
  finish(pass);
}

// ---- pooling ----

std::string Pool::name() const {
  return core::format("{} pool {}x{}{}", kind_ == Kind::maximum ? "max" : "mean", filter_.height, filter_.width,
                      filter_.stride == 1 ? "" : core::format("/{}", filter_.stride));
}

std::vector<ValueType> Pool::infer(Types inputs) const {
  expect_inputs(inputs, 1);
  return {filtered(inputs[0], expect_image(inputs[0]).channels, filter_)};
}

void Pool::forward(const Pass& pass) const {
  count_stream(pass, KernelId::scale, pass.input_type(0).size() + pass.output_type(0).size());
}

void Pool::backward_inputs(const Pass& pass) const {
  count_stream(pass, KernelId::activation_backward, pass.input_type(0).size() + pass.output_type(0).size());
}

// ---- concatenation ----

std::vector<ValueType> Concatenate::infer(Types inputs) const {
  if (inputs.empty()) throw core::ConfigError("needs inputs");
  expect_inputs(inputs, inputs.size());
  ValueType whole = inputs[0];
  const auto rest = [](const ValueType& value) { return std::span(value.shape.extents).subspan(1); };
  whole.shape.extents[0] = 0;
  for (const ValueType& input : inputs) {
    if (!std::ranges::equal(rest(input), rest(inputs[0])))
      throw core::ConfigError(core::format("takes inputs that differ in their first extent only, not {} and {}",
                                           describe(inputs[0].shape), describe(input.shape)));
    whole.shape.extents[0] += input.shape.extents[0];
  }
  return {whole};
}

void Concatenate::forward(const Pass& pass) const { count_stream(pass, KernelId::scale, 2 * pass.output_type(0).size()); }

void Concatenate::backward_inputs(const Pass& pass) const {
  count_stream(pass, KernelId::activation_backward, 2 * pass.output_type(0).size());
}

// ---- LSTM ----

std::vector<ValueType> LstmFrame::infer(Types inputs) const {
  expect_inputs(inputs, 1);
  return {{{cells_, 1, 1}}};
}

/// Weights, biases, three peepholes.
std::vector<ParameterSpec> LstmFrame::parameters(Types inputs) const {
  ParameterSpec spec{"weights", {{4 * cells_, inputs[0].size() + cells_}, {4 * cells_, 1}}, no_weights};
  spec.matrices.insert(spec.matrices.end(), 3, {cells_, 1});
  return {spec};
}

void LstmFrame::product(const Pass& pass, KernelId kernel) const {
  const std::size_t inner = pass.input_type(0).size() + cells_;
  count_product(pass, kernel, 1, inner, 4 * cells_, inner, cells_);
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
  finish(pass);
}

}  // namespace paragrad::nn
