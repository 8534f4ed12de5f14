#include "nn/ops/activate.hpp"

#include "backend/kernels/activate.hpp"
#include "backend/kernels/activation_gradient.hpp"
#include "nn/ops/checks.hpp"
#include "nn/pass.hpp"

namespace paragrad::nn {

std::vector<ValueType> Activate::infer(Types inputs) const {
  expect_inputs(inputs, 1);
  return {inputs[0]};
}

std::optional<OpPart> Activate::part(Types, std::size_t, std::size_t) const {
  return OpPart{OpPart::Kind::elementwise, std::make_shared<const Activate>(f_)};
}

void Activate::forward(const Pass& pass) const { pass.queue().run(backend::Activate{f_, pass.x(), pass.y()}); }

void Activate::backward_inputs(const Pass& pass) const {
  const InputSink dx = pass.dx();
  if (!dx.wanted()) return;
  const std::span<const float> at = reads_output() ? pass.y() : pass.x();
  pass.queue().run(backend::ActivationGradient{f_, at, pass.dy(), dx.keep, dx.into});
  apply_slope(pass.queue(), dx);
}

}  // namespace paragrad::nn
