#include "nn/ops/convolution.hpp"

#include <algorithm>

#include "nn/ops/initial_weights.hpp"
#include "nn/ops/op_entry.hpp"
#include "nn/pass.hpp"

namespace paragrad::nn {

std::string Convolution::name() const {
  return with_function(
      core::format("convolution {}{}", describe(window_), groups_ == 1 ? "" : core::format(" in {} groups", groups_)), f_);
}

backend::ConvolutionShape Convolution::shape(const ValueType& input, std::size_t rows) const {
  const Image image = expect_image(input);
  const auto [down, across] = positions_of(window_, image);
  return {rows, image.channels, outputs_, down, across, groups_};
}

std::vector<ValueType> Convolution::infer(Types inputs) const {
  expect_inputs(inputs, 1);
  const backend::ConvolutionShape of = shape(inputs[0], 1);
  if (groups_ == 0 || of.channels % groups_ != 0 || outputs_ % groups_ != 0)
    throw core::ConfigError(
        core::format("has {} groups, which cannot share {} channels and {} outputs evenly", groups_, of.channels, outputs_));
  return {{{of.down.steps, of.across.steps, outputs_}}};
}

std::vector<ParameterSpec> Convolution::parameters(Types inputs) const {
  const std::size_t inner = shape(inputs[0], 1).inner(), fan_out = window_.height * window_.width * outputs_ / groups_;
  const auto initialise = [inner, fan_out, next = next_, filters = inner * outputs_](const core::RandomStream& random,
                                                                                     std::span<float> all) {
    initialise_weights(next, inner, fan_out, random, all.first(filters));
    std::ranges::fill(all.subspan(filters), 0.f);
  };
  ParameterSpec spec{bias_ ? "filters and bias" : "filters", {{outputs_, inner}}, initialise};
  if (bias_) spec.matrices.push_back({outputs_, 1});
  return {spec};
}

std::shared_ptr<const Op> Convolution::with_activation(backend::Activation f) const {
  if (f_ != backend::Activation::identity) return nullptr;
  return std::make_shared<const Convolution>(outputs_, window_, bias_, groups_, next_, f);
}

void Convolution::forward(const Pass& pass) const {
  const backend::ConvolutionShape of = shape(pass.input_type(0), pass.rows());
  const auto parameters = pass.parameters(0);
  pass.queue().run(backend::ConvolutionForward{of, pass.x(), parameters.first(of.filters()),
                                               parameters.subspan(of.filters()), f_, pass.y()});
}

void Convolution::backward_inputs(const Pass& pass) const {
  const InputSink dx = pass.dx();
  if (!dx.wanted()) return;
  const backend::ConvolutionShape of = shape(pass.input_type(0), pass.rows());
  pass.queue().run(backend::ConvolutionBackwardInput{of, pass.dy(), pass.parameters(0).first(of.filters()), dx.keep, dx.f,
                                                     dx.y, dx.into});
}

void Convolution::backward_parameters(const Pass& pass) const {
  const GradientSink gradient = pass.gradient(0);
  pass.queue().run(backend::ConvolutionBackwardWeights{shape(pass.input_type(0), pass.rows()), pass.x(), pass.dy(),
                                                       gradient.keep, gradient.into});
  descend(pass.queue(), gradient);
  pass.ready(0);
}

namespace {

struct ConvolutionOptions : WindowOptions {
  std::size_t outputs = 0, groups = 1;
  bool bias = true;

  void describe(core::OptionList& list) {
    list.number("outputs", outputs, {.least = 1, .most = 1'000'000}, "number of output channels").without_default();
    WindowOptions::describe(list);
    list.number("groups", groups, {.least = 1, .most = 1'000'000}, "groups of channels, each seen by as many outputs");
    list.flag("bias", bias, "a bias for each output channel");
  }
};

}  // namespace

OpEntry convolution_op() {
  return op_entry<ConvolutionOptions>(
      "convolution", "filters that move over an image", [](const ConvolutionOptions& options, backend::Activation next) {
        expect_outputs(options.outputs);
        return std::make_shared<const Convolution>(options.outputs, options.window(), options.bias, options.groups, next);
      });
}

}  // namespace paragrad::nn
