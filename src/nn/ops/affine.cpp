#include "nn/ops/affine.hpp"

#include <algorithm>

#include "backend/kernels/affine.hpp"
#include "backend/kernels/bias_gradient.hpp"
#include "nn/ops/checks.hpp"
#include "nn/ops/initial_weights.hpp"
#include "nn/ops/op_entry.hpp"
#include "nn/pass.hpp"

namespace paragrad::nn {
namespace {

// Small enough that `ready` finds a panel of the gradient in the L2 cache; each panel packs dz again.
constexpr std::size_t panel_bytes = 1024 * 1024;

}  // namespace

std::string Affine::name() const { return with_function("affine", f_); }

std::vector<ValueType> Affine::infer(Types inputs) const {
  expect_inputs(inputs, 1);
  return {{{outputs_}}};
}

std::vector<ParameterSpec> Affine::parameters(Types inputs) const {
  const std::size_t in = inputs[0].size(), out = outputs_;
  ParameterSpec weights{
      "weights",
      {{out, in}},
      [next = next_, in, out, deviation = form_.deviation](const core::RandomStream& random, std::span<float> all) {
        deviation > 0 ? initialise_normal(deviation, random, all) : initialise_weights(next, in, out, random, all);
      }};
  if (!form_.bias) return {weights};
  return {weights,
          {"bias", {{out, 1}}, [](const core::RandomStream&, std::span<float> bias) { std::ranges::fill(bias, 0.f); }}};
}

std::shared_ptr<const Op> Affine::with_activation(backend::Activation f) const {
  if (f_ != backend::Activation::identity) return nullptr;
  return std::make_shared<const Affine>(outputs_, next_, f, form_);
}

std::optional<OpPart> Affine::part(Types, std::size_t workers, std::size_t index) const {
  const core::Range own = expect_part(outputs_, "outputs", workers, index);
  std::vector<std::vector<core::Range>> rows(form_.bias ? 2 : 1, {own});
  return OpPart{OpPart::Kind::outputs, std::make_shared<const Affine>(own.size(), next_, f_, form_), std::move(rows)};
}

void Affine::forward(const Pass& pass) const {
  pass.queue().run(backend::AffineForward{pass.rows(), pass.input_type(0).size(), outputs_, pass.x(), pass.parameters(0),
                                          form_.bias ? pass.parameters(1) : std::span<const float>{}, f_, pass.y()});
}

void Affine::backward_inputs(const Pass& pass) const {
  affine_input_gradient(pass.queue(), pass.rows(), pass.input_type(0).size(), outputs_, pass.dy(), pass.parameters(0),
                        pass.x(), pass.dx());
}

void Affine::backward_parameters(const Pass& pass) const {
  const GradientSink bias = form_.bias ? pass.gradient(1) : GradientSink{};
  AffineGradient{pass.rows(), pass.input_type(0).size(), outputs_, pass.x(), pass.dy(), pass.gradient(0), bias}.run(
      pass.queue(), [&](core::Range range) { pass.ready(0, range); }, [&](core::Range range) { pass.ready(1, range); });
}

void AffineGradient::run(backend::KernelQueue& queue, const GradientReady& ready_weights,
                         const GradientReady& ready_bias) const {
  if (!bias.into.empty()) {
    queue.run(backend::BiasGradient{rows, outputs, dz, bias.keep, bias.into});
    descend(queue, bias);
    ready_bias({0, outputs});
  }
  if (weights.descent) {
    const auto& [rate, decay, moving] = *weights.descent;
    queue.run(backend::AffineDescend{rows, inputs, outputs, x, dz, weights.keep, rate, decay, weights.into, moving});
    return ready_weights({0, inputs * outputs});
  }
  const std::size_t rows_per_panel = std::max<std::size_t>(1, panel_bytes / sizeof(float) / outputs);
  for (std::size_t row = 0; row < inputs; row += rows_per_panel) {
    const std::size_t panel_rows = std::min(rows_per_panel, inputs - row);
    const core::Range panel{row * outputs, (row + panel_rows) * outputs};
    queue.run(
        backend::AffineBackwardWeights{rows, inputs, outputs, row, panel_rows, x, dz, weights.keep, panel.of(weights.into)});
    ready_weights(panel);
  }
}

void affine_input_gradient(backend::KernelQueue& queue, std::size_t rows, std::size_t inputs, std::size_t outputs,
                           std::span<const float> dz, std::span<const float> weights, std::span<const float> x,
                           const InputSink& sink) {
  if (!sink.wanted()) return;
  if (sink.keep == 0)
    return queue.run(backend::AffineBackwardInput{rows, inputs, outputs, dz, weights, x, sink.f, sink.into});
  queue.run(backend::Gemm{backend::Transpose::no, backend::Transpose::yes, rows, inputs, outputs, dz, weights, sink.keep,
                          sink.into});
  apply_slope(queue, sink);
}

namespace {

struct AffineOptions : AffineForm {
  std::size_t outputs = 0;

  void describe(core::OptionList& list) {
    list.number("outputs", outputs, {.least = 1, .most = 10'000'000}, "number of outputs").without_default();
    list.flag("bias", bias, "add a number to each output");
    list.number(
        "deviation", deviation, {.least = 0, .most = 100},
        "standard deviation of the initial weights, which are normal (0: as suits the activation function that follows)");
  }
};

}  // namespace

OpEntry affine_op() {
  return op_entry<AffineOptions>(
      "affine", "all inputs times a matrix, plus a bias", [](const AffineOptions& options, backend::Activation next) {
        expect_outputs(options.outputs);
        return std::make_shared<const Affine>(options.outputs, next, backend::Activation::identity, options);
      });
}

}  // namespace paragrad::nn
