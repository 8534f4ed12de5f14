#include "nn/ops/rotary.hpp"

#include "backend/kernels/rotate.hpp"
#include "nn/ops/checks.hpp"
#include "nn/ops/op_entry.hpp"
#include "nn/ops/rows_of_windows.hpp"

namespace paragrad::nn {

std::vector<ValueType> Rotary::infer(Types inputs) const {
  expect_inputs(inputs, 1);
  if (inputs[0].size() % (6 * heads_) != 0)
    throw core::ConfigError(core::format("cannot divide {} inputs into queries, keys and values of {} head{}, each in pairs",
                                         inputs[0].size(), heads_, heads_ == 1 ? "" : "s"));
  return {inputs[0]};
}

std::optional<OpPart> Rotary::part(Types, std::size_t, std::size_t) const {
  return OpPart{OpPart::Kind::replicated, std::make_shared<const Rotary>(heads_, base_)};
}

void Rotary::forward(const Pass& pass) const {
  pass.queue().run(backend::Rotate{rows_of_windows(pass), heads_, pass.input_type(0).size() / (3 * heads_), base_, false,
                                   pass.x(), 0, pass.y()});
}

void Rotary::backward_inputs(const Pass& pass) const {
  const InputSink dx = pass.dx();
  if (!dx.wanted()) return;
  pass.queue().run(backend::Rotate{rows_of_windows(pass), heads_, pass.input_type(0).size() / (3 * heads_), base_, true,
                                   pass.dy(), dx.keep, dx.into});
  apply_slope(pass.queue(), dx);
}

namespace {

struct RotaryOptions {
  std::size_t heads = 1;
  double base = 10000;

  void describe(core::OptionList& list) {
    list.number("heads", heads, {.least = 1, .most = 1'000'000}, "heads, as of the attention that follows");
    list.number("base", base, {.least = 1, .most = 1e9, .without_least = true},
                "pair i of a head's w numbers turns by the position divided by this to the power of 2i/w");
  }
};

}  // namespace

OpEntry rotary_op() {
  return op_entry<RotaryOptions>("rotary", "turns queries and keys by their positions, before attention",
                                 [](const RotaryOptions& options, backend::Activation) {
                                   return std::make_shared<const Rotary>(options.heads, options.base);
                                 });
}

}  // namespace paragrad::nn
