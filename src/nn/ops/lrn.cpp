#include "nn/ops/lrn.hpp"

#include "nn/ops/checks.hpp"
#include "nn/ops/op_entry.hpp"
#include "nn/pass.hpp"

namespace paragrad::nn {

backend::LrnShape Lrn::shape(const ValueType& input, std::size_t rows) const {
  const Image image = expect_image(input);
  return {rows * image.positions(), image.channels, numbers_.size};
}

std::string Lrn::name() const { return core::format("lrn {}", numbers_.size); }

std::vector<ValueType> Lrn::infer(Types inputs) const {
  expect_inputs(inputs, 1);
  expect_image(inputs[0]);
  return {inputs[0]};
}

std::vector<MemorySpec> Lrn::memory(Types inputs) const { return {{"d", inputs[0].size()}}; }

void Lrn::forward(const Pass& pass) const {
  pass.queue().run(backend::LrnForward{shape(pass.input_type(0), pass.rows()), numbers_.alpha, numbers_.beta, numbers_.k,
                                       pass.x(), pass.memory("d"), pass.y()});
}

void Lrn::backward_inputs(const Pass& pass) const {
  const InputSink dx = pass.dx();
  if (!dx.wanted()) return;
  pass.queue().run(backend::LrnBackward{shape(pass.input_type(0), pass.rows()), numbers_.alpha, numbers_.beta, pass.x(),
                                        pass.memory("d"), pass.y(), pass.dy(), dx.keep, dx.into});
  apply_slope(pass.queue(), dx);
}

namespace {

struct LrnOptions {
  std::size_t size = 5;
  double alpha = 1e-4, beta = 0.75, k = 1;

  void describe(core::OptionList& list) {
    list.number("size", size, {.least = 1, .most = 1000000}, "neighbouring channels, the channel itself among them");
    list.number("alpha", alpha, core::zero_or_more, "weight of their mean square");
    list.number("beta", beta, core::zero_or_more, "exponent");
    list.number("k", k, core::above_zero, "added to the weighted mean square");
  }
};

}  // namespace

OpEntry lrn_op() {
  return op_entry<LrnOptions>(
      "lrn", "local response normalisation across channels", [](const LrnOptions& options, backend::Activation) {
        return std::make_shared<const Lrn>(LrnNumbers{options.size, static_cast<float>(options.alpha),
                                                      static_cast<float>(options.beta), static_cast<float>(options.k)});
      });
}

}  // namespace paragrad::nn
