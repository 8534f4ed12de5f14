#include "nn/ops/positions.hpp"

#include "backend/kernels/positions.hpp"
#include "nn/ops/checks.hpp"
#include "nn/ops/initial_weights.hpp"
#include "nn/ops/op_entry.hpp"
#include "nn/ops/rows_of_windows.hpp"
#include "nn/pass.hpp"

namespace paragrad::nn {

std::vector<ValueType> Positions::infer(Types inputs) const {
  expect_inputs(inputs, 1);
  return {inputs[0]};
}

std::vector<ParameterSpec> Positions::parameters(Types inputs) const {
  const auto initialise = [deviation = deviation_](const core::RandomStream& random, std::span<float> table) {
    initialise_normal(deviation, random, table);
  };
  return {{"table", {{inputs[0].size(), context_}}, initialise}};
}

std::optional<OpPart> Positions::part(Types inputs, std::size_t workers, std::size_t index) const {
  const core::Range own = expect_part(inputs[0].size(), "inputs", workers, index);
  return OpPart{OpPart::Kind::elementwise, std::make_shared<const Positions>(context_, deviation_), {{own}}};
}

void Positions::forward(const Pass& pass) const {
  pass.queue().run(
      backend::AddPositions{rows_of_windows(pass), pass.input_type(0).size(), pass.x(), pass.parameters(0), pass.y()});
}

void Positions::backward_inputs(const Pass& pass) const { add_gradient(pass.queue(), pass.dx(), pass.dy()); }

void Positions::backward_parameters(const Pass& pass) const {
  const GradientSink table = pass.gradient(0);
  pass.queue().run(
      backend::PositionsGradient{rows_of_windows(pass), pass.input_type(0).size(), pass.dy(), table.keep, table.into});
  descend(pass.queue(), table);
  pass.ready(0);
}

namespace {

struct PositionsOptions {
  std::size_t context = 0;
  double deviation = 0.02;

  void describe(core::OptionList& list) {
    list.number("context", context, {.least = 1, .most = 1'000'000}, "positions: the longest window").without_default();
    list.number("deviation", deviation, {.least = 0, .most = 100}, "standard deviation of the initial vectors");
  }
};

}  // namespace

OpEntry positions_op() {
  return op_entry<PositionsOptions>("positions", "adds a vector for each position in a window",
                                    [](const PositionsOptions& options, backend::Activation) {
                                      if (options.context == 0)
                                        throw core::OptionError("context", "it must be given, as in context=64");
                                      return std::make_shared<const Positions>(options.context, options.deviation);
                                    });
}

}  // namespace paragrad::nn
