#include "nn/ops/multiply.hpp"

#include "backend/kernels/multiply.hpp"
#include "nn/ops/checks.hpp"
#include "nn/ops/op_entry.hpp"
#include "nn/pass.hpp"

namespace paragrad::nn {

std::vector<ValueType> Multiply::infer(Types inputs) const {
  expect_inputs(inputs, 2);
  expect_same_shape(inputs[0], inputs[1]);
  return {inputs[0]};
}

std::optional<OpPart> Multiply::part(Types, std::size_t, std::size_t) const {
  return OpPart{OpPart::Kind::elementwise, std::make_shared<const Multiply>()};
}

void Multiply::forward(const Pass& pass) const { pass.queue().run(backend::Multiply{pass.x(0), pass.x(1), 0, pass.y()}); }

void Multiply::backward_inputs(const Pass& pass) const {
  for (const std::size_t i : {0, 1}) {
    const InputSink dx = pass.dx(i);
    if (!dx.wanted()) continue;
    pass.queue().run(backend::Multiply{pass.dy(), pass.x(1 - i), dx.keep, dx.into});
    apply_slope(pass.queue(), dx);
  }
}

OpEntry multiply_op() {
  OpEntry entry = op_entry<core::NoOptions>(
      "multiply", "the product of two values, element by element",
      [](const core::NoOptions&, backend::Activation) { return std::make_shared<const Multiply>(); });
  entry.least_inputs = entry.most_inputs = 2;
  return entry;
}

}  // namespace paragrad::nn
