#include "nn/ops/row_norm.hpp"

#include <algorithm>

#include "nn/ops/checks.hpp"
#include "nn/ops/op_entry.hpp"
#include "nn/ops/scale_and_shift.hpp"
#include "nn/pass.hpp"

namespace paragrad::nn {

std::vector<ValueType> RowNorm::infer(Types inputs) const {
  expect_inputs(inputs, 1);
  if (form_.centred && inputs[0].size() == 1)
    throw core::ConfigError("brings a single value to 0: give rows of several, or take rms_norm");
  return {inputs[0]};
}

std::vector<ParameterSpec> RowNorm::parameters(Types inputs) const {
  const std::size_t width = inputs[0].size();
  if (form_.shift) return {scale_and_shift(width)};
  return {{"scale", {{width, 1}}, [](const core::RandomStream&, std::span<float> all) { std::ranges::fill(all, 1.f); }}};
}

std::vector<MemorySpec> RowNorm::memory(Types) const { return {{"used", 2}}; }

void RowNorm::forward(const Pass& pass) const {
  pass.queue().run(backend::RowNormForward{shape(pass.input_type(0), pass.rows()), static_cast<float>(form_.epsilon),
                                           pass.x(), pass.parameters(0), pass.memory("used"), pass.y()});
}

void RowNorm::backward_inputs(const Pass& pass) const {
  const InputSink dx = pass.dx();
  if (!dx.wanted()) return;
  pass.queue().run(backend::RowNormBackward{shape(pass.input_type(0), pass.rows()), pass.x(), pass.parameters(0),
                                            pass.memory("used"), pass.dy(), dx.keep, dx.into});
  apply_slope(pass.queue(), dx);
}

void RowNorm::backward_parameters(const Pass& pass) const {
  const GradientSink parameters = pass.gradient(0);
  pass.queue().run(backend::RowNormGradient{shape(pass.input_type(0), pass.rows()), pass.x(), pass.memory("used"), pass.dy(),
                                            parameters.keep, parameters.into});
  descend(pass.queue(), parameters);
  pass.ready(0);
}

namespace {

template <bool is_centred>
struct RowNormOptions : RowNormForm {
  RowNormOptions() { centred = is_centred, shift = is_centred; }

  void describe(core::OptionList& list) {
    list.flag("shift", shift, "add a number to each element, after the scale");
    list.number("epsilon", epsilon, {.least = 0, .most = 1, .without_least = true}, "added to the variance");
  }
};

template <bool is_centred>
OpEntry row_norm(std::string name, std::string summary) {
  return op_entry<RowNormOptions<is_centred>>(std::move(name), std::move(summary),
                                              [](const RowNormOptions<is_centred>& options, backend::Activation) {
                                                return std::make_shared<const RowNorm>(options);
                                              });
}

}  // namespace

OpEntry layer_norm_op() { return row_norm<true>("layer_norm", "layer normalisation, with scale and shift"); }
OpEntry rms_norm_op() { return row_norm<false>("rms_norm", "RMS normalisation, with scale"); }

}  // namespace paragrad::nn
