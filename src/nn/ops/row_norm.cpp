#include "nn/ops/row_norm.hpp"

#include <algorithm>
#include <utility>

#include "backend/kernels/copy.hpp"
#include "backend/kernels/copy_columns.hpp"
#include "backend/kernels/fill.hpp"
#include "nn/columns.hpp"
#include "nn/ops/checks.hpp"
#include "nn/ops/op_entry.hpp"
#include "nn/ops/scale_and_shift.hpp"
#include "nn/pass.hpp"

namespace paragrad::nn {
namespace {

ParameterSpec parameters_of(const RowNormForm& form, std::size_t width) {
  if (form.shift) return scale_and_shift(width);
  return {"scale", {{width, 1}}, [](const core::RandomStream&, std::span<float> all) { std::ranges::fill(all, 1.f); }};
}

/// Columns `own` of the outputs, from whole rows. The kernels work on whole rows with parameters that are 0 in all other
/// columns, so that the gradient of the inputs is this worker's addend.
class RowNormPart final : public Op {
 public:
  RowNormPart(const RowNormForm& form, core::Range own) : form_(form), own_(own) {}

  std::string name() const override { return form_.centred ? "layer_norm, part" : "rms_norm, part"; }
  std::vector<ValueType> infer(Types) const override { return {{{own_.size()}}}; }
  std::vector<ParameterSpec> parameters(Types) const override { return {parameters_of(form_, own_.size())}; }
  std::vector<MemorySpec> memory(Types inputs) const override {
    const std::size_t width = inputs[0].size();
    return {{"used", 2},
            {"rows", width, MemorySpec::Kind::scratch},
            {"own", own_.size(), MemorySpec::Kind::scratch},
            {"parameters", form_.shift ? 2 * width : width, MemorySpec::Kind::fixed}};
  }

  void forward(const Pass& pass) const override {
    const std::size_t width = pass.input_type(0).size();
    const std::span<float> whole = pass.memory("parameters");
    pass.queue().run(backend::Fill{0, whole});
    for (std::size_t of = 0; of < (form_.shift ? 2 : 1); ++of)
      pass.queue().run(backend::Copy{pass.parameters(0).subspan(of * own_.size(), own_.size()),
                                     whole.subspan(of * width + own_.begin, own_.size())});
    pass.queue().run(backend::RowNormForward{shape(pass, width), static_cast<float>(form_.epsilon), pass.x(), whole,
                                             pass.memory("used"), pass.memory("rows")});
    take(pass, pass.memory("rows"), pass.y());
  }

  void backward_inputs(const Pass& pass) const override {
    const InputSink dx = pass.dx();
    if (!dx.wanted()) return;
    const std::size_t width = pass.input_type(0).size();
    const std::span<float> dy = pass.memory("rows");
    pass.queue().run(backend::Fill{0, dy});
    pass.queue().run(backend::CopyColumns{pass.rows(), own_.size(), own_.size(), pass.dy(), width,
                                          columns_of(dy, pass.rows(), width, own_)});
    pass.queue().run(backend::RowNormBackward{shape(pass, width), pass.x(), pass.memory("parameters"), pass.memory("used"),
                                              dy, dx.keep, dx.into});
    apply_slope(pass.queue(), dx);
  }

  void backward_parameters(const Pass& pass) const override {
    const GradientSink parameters = pass.gradient(0);
    take(pass, pass.x(), pass.memory("own"));
    pass.queue().run(backend::RowNormGradient{shape(pass, own_.size()), pass.memory("own"), pass.memory("used"), pass.dy(),
                                              parameters.keep, parameters.into});
    descend(pass.queue(), parameters);
    pass.ready(0);
  }

 private:
  backend::RowNormShape shape(const Pass& pass, std::size_t width) const {
    return {pass.rows(), width, form_.centred, form_.shift};
  }

  void take(const Pass& pass, std::span<const float> rows, std::span<float> own) const {
    const std::size_t width = pass.input_type(0).size();
    pass.queue().run(
        backend::CopyColumns{pass.rows(), own_.size(), width, columns_of(rows, pass.rows(), width, own_), own_.size(), own});
  }

  RowNormForm form_;
  core::Range own_;
};

}  // namespace

std::vector<ValueType> RowNorm::infer(Types inputs) const {
  expect_inputs(inputs, 1);
  if (form_.centred && inputs[0].size() == 1)
    throw core::ConfigError("brings a single value to 0: give rows of several, or take rms_norm");
  return {inputs[0]};
}

std::vector<ParameterSpec> RowNorm::parameters(Types inputs) const { return {parameters_of(form_, inputs[0].size())}; }

std::optional<OpPart> RowNorm::part(Types inputs, std::size_t workers, std::size_t index) const {
  const core::Range own = expect_part(inputs[0].size(), "inputs", workers, index);
  std::vector<core::Range> rows(form_.shift ? 2 : 1, own);
  return OpPart{OpPart::Kind::outputs, std::make_shared<const RowNormPart>(form_, own), {std::move(rows)}};
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
