#include "nn/ops/embedding.hpp"

#include "backend/kernels/embedding.hpp"
#include "nn/ops/checks.hpp"
#include "nn/ops/initial_weights.hpp"
#include "nn/ops/op_entry.hpp"
#include "nn/pass.hpp"

namespace paragrad::nn {

std::vector<ValueType> Embedding::infer(Types inputs) const {
  if (inputs.size() != 1 || inputs[0].type != DataType::int32)
    throw core::ConfigError("takes tokens, which only the input of a network can be: 'input tokens=256 context=64'");
  return {{{width_}}};
}

std::vector<ParameterSpec> Embedding::parameters(Types inputs) const {
  const auto initialise = [deviation = deviation_](const core::RandomStream& random, std::span<float> table) {
    initialise_normal(deviation, random, table);
  };
  return {{"table", {{width_, inputs[0].vocabulary}}, initialise}};
}

std::optional<OpPart> Embedding::part(Types, std::size_t workers, std::size_t index) const {
  const core::Range own = expect_part(width_, "outputs", workers, index);
  return OpPart{OpPart::Kind::outputs, std::make_shared<const Embedding>(own.size(), deviation_), {{own}}};
}

void Embedding::forward(const Pass& pass) const {
  pass.queue().run(backend::EmbeddingForward{width_, pass.tokens(), pass.parameters(0), pass.y()});
}

void Embedding::backward_parameters(const Pass& pass) const {
  const GradientSink table = pass.gradient(0);
  pass.queue().run(backend::EmbeddingGradient{width_, pass.tokens(), pass.dy(), table.keep, table.into});
  descend(pass.queue(), table);
  pass.ready(0);
}

namespace {

struct EmbeddingOptions {
  std::size_t width = 0;
  double deviation = 0.02;

  void describe(core::OptionList& list) {
    list.number("width", width, {.least = 1, .most = 1'000'000}, "length of the vectors").without_default();
    list.number("deviation", deviation, {.least = 0, .most = 100}, "standard deviation of the initial vectors");
  }
};

}  // namespace

OpEntry embedding_op() {
  return op_entry<EmbeddingOptions>("embedding", "a vector for each token",
                                    [](const EmbeddingOptions& options, backend::Activation) {
                                      if (options.width == 0)
                                        throw core::OptionError("width", "it must be given, as in width=128");
                                      return std::make_shared<const Embedding>(options.width, options.deviation);
                                    });
}

}  // namespace paragrad::nn
