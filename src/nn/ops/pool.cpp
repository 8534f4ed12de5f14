#include "nn/ops/pool.hpp"

#include "nn/pass.hpp"

namespace paragrad::nn {

std::string Pool::name() const {
  return core::format("{} pool {}", kind_ == Kind::maximum ? "max" : "mean", describe(window_));
}

backend::PoolShape Pool::shape(const ValueType& input, std::size_t rows) const {
  const Image image = expect_image(input);
  const auto [down, across] = positions_of(window_, image);
  return {rows, image.channels, down, across};
}

std::vector<ValueType> Pool::infer(Types inputs) const {
  expect_inputs(inputs, 1);
  const backend::PoolShape of = shape(inputs[0], 1);
  return {{{of.down.steps, of.across.steps, of.channels}}};
}

std::vector<MemorySpec> Pool::memory(Types inputs) const {
  if (kind_ == Kind::mean) return {};
  return {{"chosen", shape(inputs[0], 1).outputs()}};
}

void Pool::forward(const Pass& pass) const {
  const backend::PoolShape of = shape(pass.input_type(0), pass.rows());
  if (kind_ == Kind::maximum)
    pass.queue().run(backend::MaxPool{of, pass.x(), pass.y(), pass.memory("chosen")});
  else
    pass.queue().run(backend::MeanPool{of, pass.x(), pass.y()});
}

void Pool::backward_inputs(const Pass& pass) const {
  const InputSink dx = pass.dx();
  if (!dx.wanted()) return;
  const backend::PoolShape of = shape(pass.input_type(0), pass.rows());
  if (kind_ == Kind::maximum)
    pass.queue().run(backend::MaxPoolBackward{of, pass.dy(), pass.memory("chosen"), dx.keep, dx.f, dx.y, dx.into});
  else
    pass.queue().run(backend::MeanPoolBackward{of, pass.dy(), dx.keep, dx.f, dx.y, dx.into});
}

}  // namespace paragrad::nn
