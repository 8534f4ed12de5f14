#include "nn/ops/add.hpp"

#include "backend/kernels/sum.hpp"
#include "nn/ops/checks.hpp"
#include "nn/ops/op_entry.hpp"
#include "nn/pass.hpp"

namespace paragrad::nn {

std::string Add::name() const { return with_function("add", f_); }

std::vector<ValueType> Add::infer(Types inputs) const {
  expect_inputs(inputs, 2);
  expect_same_shape(inputs[0], inputs[1]);
  return {inputs[0]};
}

std::shared_ptr<const Op> Add::with_activation(backend::Activation f) const {
  return f_ == backend::Activation::identity ? std::make_shared<const Add>(f) : nullptr;
}

std::optional<OpPart> Add::part(Types, std::size_t, std::size_t) const {
  return OpPart{OpPart::Kind::elementwise, std::make_shared<const Add>(f_)};
}

void Add::forward(const Pass& pass) const { pass.queue().run(backend::Sum{f_, pass.x(0), pass.x(1), pass.y()}); }

void Add::backward_inputs(const Pass& pass) const {
  const InputSink a = pass.dx(0), b = pass.dx(1);
  if (!a.wanted() || !b.wanted() || a.into.data() == b.into.data()) {
    add_gradient(pass.queue(), a, pass.dy());
    return add_gradient(pass.queue(), b, pass.dy());
  }
  pass.queue().run(backend::SumBackward{pass.dy(), a.keep, a.into, b.keep, b.into});
  apply_slope(pass.queue(), a);
  apply_slope(pass.queue(), b);
}

OpEntry add_op() {
  OpEntry entry = op_entry<core::NoOptions>("add", "the sum of two values", [](const core::NoOptions&, backend::Activation) {
    return std::make_shared<const Add>();
  });
  entry.least_inputs = entry.most_inputs = 2;
  return entry;
}

}  // namespace paragrad::nn
