#include "nn/ops/attention.hpp"

#include "nn/ops/checks.hpp"
#include "nn/ops/op_entry.hpp"
#include "nn/ops/rows_of_windows.hpp"

namespace paragrad::nn {

std::string Attention::name() const { return core::format("attention, {} head{}", heads_, heads_ == 1 ? "" : "s"); }

std::vector<ValueType> Attention::infer(Types inputs) const {
  expect_inputs(inputs, 1);
  if (inputs[0].size() % (3 * heads_) != 0)
    throw core::ConfigError(core::format("cannot divide {} inputs into queries, keys and values of {} head{}",
                                         inputs[0].size(), heads_, heads_ == 1 ? "" : "s"));
  return {{{inputs[0].size() / 3}}};
}

std::vector<MemorySpec> Attention::memory(Types) const { return {{"sums", heads_}}; }

backend::AttentionShape Attention::shape(const Pass& pass) const {
  return {rows_of_windows(pass), heads_, pass.input_type(0).size() / (3 * heads_)};
}

void Attention::forward(const Pass& pass) const {
  pass.queue().run(backend::AttentionForward{shape(pass), pass.x(), pass.memory("sums"), pass.y()});
}

void Attention::backward_inputs(const Pass& pass) const {
  const InputSink dx = pass.dx();
  if (!dx.wanted()) return;
  pass.queue().run(
      backend::AttentionBackward{shape(pass), pass.x(), pass.memory("sums"), pass.y(), pass.dy(), dx.keep, dx.into});
  apply_slope(pass.queue(), dx);
}

namespace {

struct AttentionOptions {
  std::size_t heads = 1;

  void describe(core::OptionList& list) {
    list.number("heads", heads, {.least = 1, .most = 1'000'000}, "heads, which share the inputs equally");
  }
};

}  // namespace

OpEntry attention_op() {
  return op_entry<AttentionOptions>(
      "attention", "causal attention over a window; its input is queries, keys and values side by side",
      [](const AttentionOptions& options, backend::Activation) { return std::make_shared<const Attention>(options.heads); });
}

}  // namespace paragrad::nn
