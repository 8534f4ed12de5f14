#include "nn/zoo/network_builder.hpp"
#include "nn/zoo/zoo.hpp"

namespace paragrad::nn::zoo {
namespace {

/// LeCun et al., Proceedings of the IEEE 1998, Fig. 2, with today's parts: ReLU for the scaled tanh, maximum pooling for
/// trained sums, every map connected with all below, an affine output layer for radial basis functions.
Graph make_lenet5() {
  NetworkBuilder net({28, 28, 1}, NetworkBuilder::Normalise::bias);
  ValueId x = net.convolution("c1", NetworkBuilder::input, 6, square(5, 1, Padding::of(2)));
  x = net.max_pool("s2", x, square(2, 2, Padding::valid));
  x = net.convolution("c3", x, 16, square(5, 1, Padding::valid));
  x = net.max_pool("s4", x, square(2, 2, Padding::valid));
  x = net.convolution("c5", x, 120, square(5, 1, Padding::valid));
  x = net.relu("f6", net.fully_connected("f6", x, 84));
  return std::move(net).build(net.fully_connected("output", x, 10));
}

}  // namespace

ZooEntry lenet5_entry() {
  return network({.name = "lenet5",
                  .summary = "LeNet-5 with ReLU and maximum pooling, on images of 28x28: 61,706 parameters",
                  .source = "LeCun et al., Proceedings of the IEEE 1998"},
                 make_lenet5);
}

}  // namespace paragrad::nn::zoo
