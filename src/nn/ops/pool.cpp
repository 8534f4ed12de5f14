#include "nn/ops/pool.hpp"

#include "nn/ops/op_entry.hpp"
#include "nn/pass.hpp"

namespace paragrad::nn {

std::string Pool::name() const {
  return core::format("{} pool{}", kind_ == Kind::maximum ? "max" : "mean",
                      window_.height == 0 ? "" : " " + describe(window_));
}

backend::PoolShape Pool::shape(const ValueType& input, std::size_t rows) const {
  const Image image = expect_image(input);
  const Window window = window_.height == 0 ? Window{image.height, image.width, 1, Padding::valid} : window_;
  const auto [down, across] = positions_of(window, image);
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

OpEntry max_pool_op() {
  return op_entry<WindowOptions>("max_pool", "maximum of each channel in a window",
                                 [](const WindowOptions& options, backend::Activation) {
                                   return std::make_shared<const Pool>(Pool::Kind::maximum, options.window());
                                 });
}

OpEntry mean_pool_op() {
  return op_entry<WindowOptions>("mean_pool", "mean of each channel in a window",
                                 [](const WindowOptions& options, backend::Activation) {
                                   return std::make_shared<const Pool>(Pool::Kind::mean, options.window());
                                 });
}

OpEntry global_pool_op() {
  return op_entry<core::NoOptions>("global_pool", "mean of each channel", [](const core::NoOptions&, backend::Activation) {
    return std::make_shared<const Pool>(Pool::Kind::mean, Pool::whole_image);
  });
}

}  // namespace paragrad::nn
