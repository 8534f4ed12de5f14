#include "nn/ops/dropout.hpp"

#include "backend/kernels/copy.hpp"
#include "backend/kernels/dropout.hpp"
#include "nn/ops/checks.hpp"
#include "nn/ops/op_entry.hpp"
#include "nn/pass.hpp"

namespace paragrad::nn {

std::string Dropout::name() const { return core::format("dropout {}", p_); }

std::vector<ValueType> Dropout::infer(Types inputs) const {
  expect_inputs(inputs, 1);
  if (!(p_ >= 0 && p_ < 1)) throw core::ConfigError(core::format("drops with a probability from 0 to below 1, not {}", p_));
  return {inputs[0]};
}

std::optional<OpPart> Dropout::part(Types inputs, std::size_t workers, std::size_t index) const {
  const core::Range own = core::part_of(inputs[0].size(), workers, index);
  return OpPart{OpPart::Kind::elementwise, std::make_shared<const Dropout>(p_, own.begin)};
}

void Dropout::forward(const Pass& pass) const {
  if (!pass.training()) return pass.queue().run(backend::Copy{pass.x(), pass.y()});
  pass.queue().run(backend::Dropout{pass.random(core::Purpose::dropout), pass.row_numbers(), pass.input_type(0).size(),
                                    first_, p_, pass.x(), 0, pass.y()});
}

void Dropout::backward_inputs(const Pass& pass) const {
  const InputSink dx = pass.dx();
  if (!dx.wanted()) return;
  pass.queue().run(backend::Dropout{pass.random(core::Purpose::dropout), pass.row_numbers(), pass.input_type(0).size(),
                                    first_, p_, pass.dy(), dx.keep, dx.into});
  apply_slope(pass.queue(), dx);
}

namespace {

struct DropoutOptions {
  double p = 0.5;

  void describe(core::OptionList& list) {
    list.number("p", p, {.least = 0, .most = 1, .without_most = true}, "probability of zero");
  }
};

}  // namespace

OpEntry dropout_op() {
  return op_entry<DropoutOptions>(
      "dropout", "zeros by chance, in training",
      [](const DropoutOptions& options, backend::Activation) { return std::make_shared<const Dropout>(options.p); });
}

}  // namespace paragrad::nn
