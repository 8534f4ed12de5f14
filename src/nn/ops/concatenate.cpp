#include "nn/ops/concatenate.hpp"

#include <algorithm>

#include "backend/kernels/concatenate.hpp"
#include "nn/ops/checks.hpp"
#include "nn/ops/op_entry.hpp"
#include "nn/pass.hpp"

namespace paragrad::nn {
namespace {

/// Each place of an image is a row.
backend::SideBySide shape_of(const Pass& pass) {
  const ValueType& whole = pass.output_type(0);
  backend::SideBySide shape{pass.rows() * whole.size() / whole.shape.extents.back(), pass.input_count(), {}};
  for (std::size_t i = 0; i < shape.count; ++i) shape.widths[i] = pass.input_type(i).shape.extents.back();
  return shape;
}

}  // namespace

std::vector<ValueType> Concatenate::infer(Types inputs) const {
  constexpr std::size_t most = backend::SideBySide::most;
  if (inputs.empty()) throw core::ConfigError("needs inputs");
  if (inputs.size() > most) throw core::ConfigError(core::format("takes at most {} inputs, not {}", most, inputs.size()));
  expect_inputs(inputs, inputs.size());
  ValueType whole = inputs[0];
  const auto rest = [](const ValueType& value) {
    return std::span(value.shape.extents).first(value.shape.extents.size() - 1);
  };
  whole.shape.extents.back() = 0;
  for (const ValueType& input : inputs) {
    if (!std::ranges::equal(rest(input), rest(inputs[0])))
      throw core::ConfigError(core::format("takes inputs that differ in their last extent only, not {} and {}",
                                           describe(inputs[0].shape), describe(input.shape)));
    whole.shape.extents.back() += input.shape.extents.back();
  }
  return {whole};
}

void Concatenate::forward(const Pass& pass) const {
  backend::Concatenate kernel{shape_of(pass), {}, pass.y()};
  for (std::size_t i = 0; i < kernel.shape.count; ++i) kernel.x[i] = pass.x(i);
  pass.queue().run(kernel);
}

// A value that is joined with itself needs a kernel for each time: the order within a kernel is open.
void Concatenate::backward_inputs(const Pass& pass) const {
  const backend::ConcatenateBackward nothing{shape_of(pass), pass.dy(), {}, {}, {}, {}};
  backend::ConcatenateBackward kernel = nothing;
  for (std::size_t i = 0; i < kernel.shape.count; ++i) {
    const InputSink dx = pass.dx(i);
    const auto same = [&](std::span<const float> other) { return dx.wanted() && other.data() == dx.into.data(); };
    if (std::ranges::any_of(kernel.dx, same)) {
      pass.queue().run(kernel);
      kernel = nothing;
    }
    kernel.keep[i] = dx.keep;
    kernel.f[i] = dx.f;
    kernel.x[i] = dx.y;
    kernel.dx[i] = dx.into;
  }
  pass.queue().run(kernel);
}

OpEntry concatenate_op() {
  OpEntry entry = op_entry<core::NoOptions>(
      "concatenate", "values side by side: images along their channels",
      [](const core::NoOptions&, backend::Activation) { return std::make_shared<const Concatenate>(); });
  entry.most_inputs = backend::SideBySide::most;
  return entry;
}

}  // namespace paragrad::nn
