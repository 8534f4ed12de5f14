#include "nn/zoo/network_builder.hpp"

#include "nn/ops/activate.hpp"
#include "nn/ops/add.hpp"
#include "nn/ops/batch_norm.hpp"
#include "nn/ops/concatenate.hpp"
#include "nn/ops/convolution.hpp"
#include "nn/ops/lstm_frame.hpp"
#include "nn/ops/pool.hpp"

namespace paragrad::nn::zoo {

ValueId NetworkBuilder::linear_convolution(const std::string& name, ValueId from, std::size_t channels,
                                           const Window& window) {
  if (normalise_ == Normalise::bias) return graph_.add(name, Convolution(channels, window, true), {from});
  const ValueId x = graph_.add(name, Convolution(channels, window, false), {from});
  return graph_.add(name + "/bn", BatchNorm(), {x});
}

ValueId NetworkBuilder::convolution(const std::string& name, ValueId from, std::size_t channels, const Window& window) {
  return relu(name, linear_convolution(name, from, channels, window));
}

ValueId NetworkBuilder::relu(const std::string& name, ValueId from) {
  return graph_.add(name + "/relu", Activate(backend::Activation::relu), {from});
}

ValueId NetworkBuilder::max_pool(const std::string& name, ValueId from, const Window& window) {
  return graph_.add(name, Pool(Pool::Kind::maximum, window), {from});
}

ValueId NetworkBuilder::mean_pool(const std::string& name, ValueId from, const Window& window) {
  return graph_.add(name, Pool(Pool::Kind::mean, window), {from});
}

ValueId NetworkBuilder::global_pool(ValueId from) { return mean_pool("pool", from, Pool::whole_image); }

ValueId NetworkBuilder::concatenate(const std::string& name, const std::vector<ValueId>& parts) {
  return graph_.add(name, Concatenate(), parts);
}

ValueId NetworkBuilder::add(const std::string& name, ValueId x, ValueId shortcut) {
  return relu(name, graph_.add(name, Add(), {x, shortcut}));
}

ValueId NetworkBuilder::basic_block(const std::string& name, ValueId from, std::size_t channels, std::size_t stride) {
  ValueId x = convolution(name + "/a", from, channels, square(3, stride, Padding::of(1)));
  x = linear_convolution(name + "/b", x, channels, square(3, 1, Padding::of(1)));
  const ValueId shortcut =
      stride == 1 ? from : linear_convolution(name + "/shortcut", from, channels, square(1, stride, Padding::valid));
  return add(name, x, shortcut);
}

ValueId NetworkBuilder::fully_connected(const std::string& name, ValueId from, std::size_t outputs) {
  const std::vector<std::size_t> extents = graph_.type_of(from).shape.extents;
  return graph_.add(
      name, Convolution(outputs, {extents[0], extents[1], 1, Padding::valid}, true, 1, backend::Activation::identity),
      {from});
}

ValueId NetworkBuilder::lstm(const std::string& name, ValueId from, std::size_t cells, bool always_input_gradient) {
  return graph_.add(name, LstmFrame(cells, always_input_gradient), {from});
}

}  // namespace paragrad::nn::zoo
