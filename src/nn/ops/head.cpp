#include "nn/ops/head.hpp"

#include "backend/kernels/affine.hpp"
#include "nn/ops/checks.hpp"
#include "nn/ops/initial_weights.hpp"
#include "nn/ops/op_entry.hpp"
#include "nn/pass.hpp"

namespace paragrad::nn {

std::vector<ValueType> Head::infer(Types inputs) const {
  expect_inputs(inputs, 1);
  return {{{outputs_}}};
}

std::vector<ParameterSpec> Head::parameters(Types inputs) const {
  const auto initialise = [deviation = deviation_](const core::RandomStream& random, std::span<float> weights) {
    initialise_normal(deviation, random, weights);
  };
  return {{"weights", {{inputs[0].size(), outputs_}}, initialise}};
}

std::optional<OpPart> Head::part(Types inputs, std::size_t workers, std::size_t index) const {
  const core::Range own = expect_part(inputs[0].size(), "inputs", workers, index);
  return OpPart{OpPart::Kind::addend, std::make_shared<const Head>(outputs_, deviation_), {{own}}};
}

void Head::forward(const Pass& pass) const {
  pass.queue().run(backend::AffineReverse{pass.rows(),
                                          outputs_,
                                          pass.input_type(0).size(),
                                          pass.x(),
                                          pass.parameters(0),
                                          {},
                                          backend::Activation::identity,
                                          pass.y()});
}

void Head::backward_inputs(const Pass& pass) const {
  const InputSink dx = pass.dx();
  if (!dx.wanted()) return;
  if (dx.keep == 0)
    pass.queue().run(backend::AffineForward{pass.rows(),
                                            outputs_,
                                            pass.input_type(0).size(),
                                            pass.dy(),
                                            pass.parameters(0),
                                            {},
                                            backend::Activation::identity,
                                            dx.into});
  else
    pass.queue().run(backend::Gemm{backend::Transpose::no, backend::Transpose::no, pass.rows(), pass.input_type(0).size(),
                                   outputs_, pass.dy(), pass.parameters(0), dx.keep, dx.into});
  apply_slope(pass.queue(), dx);
}

void Head::backward_parameters(const Pass& pass) const {
  const GradientSink weights = pass.gradient(0);
  const std::size_t inputs = pass.input_type(0).size();
  pass.queue().run(backend::AffineBackwardWeights{pass.rows(), outputs_, inputs, 0, outputs_, pass.dy(), pass.x(),
                                                  weights.keep, weights.into});
  descend(pass.queue(), weights);
  pass.ready(0);
}

namespace {

struct HeadOptions {
  std::size_t outputs = 0;
  double deviation = 0.02;

  void describe(core::OptionList& list) {
    list.number("outputs", outputs, {.least = 1, .most = 10'000'000}, "number of outputs").without_default();
    list.number("deviation", deviation, {.least = 0, .most = 100},
                "standard deviation of the initial weights, if they are its own");
  }
};

}  // namespace

OpEntry head_op() {
  return op_entry<HeadOptions>("head", "the input times each row of a table, which may be an embedding's: shared=NODE",
                               [](const HeadOptions& options, backend::Activation) {
                                 expect_outputs(options.outputs);
                                 return std::make_shared<const Head>(options.outputs, options.deviation);
                               });
}

}  // namespace paragrad::nn
