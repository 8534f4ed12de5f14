#include <array>

#include "nn/zoo/network_builder.hpp"
#include "nn/zoo/zoo.hpp"

namespace paragrad::nn::zoo {
namespace {

/// Channels of the four branches; those that only prepare a larger kernel are called `reduce`.
struct Inception {
  std::size_t one, three_reduce, three, five_reduce, five, pool;
};

ValueId inception(NetworkBuilder& net, const std::string& name, ValueId from, const Inception& c) {
  const auto branch = [&](const char* part) { return name + "/" + part; };
  const ValueId one = net.convolution(branch("1x1"), from, c.one, square(1));
  const ValueId three = net.convolution(
      branch("3x3"), net.convolution(branch("3x3_reduce"), from, c.three_reduce, square(1)), c.three, square(3));
  const ValueId five = net.convolution(branch("5x5"), net.convolution(branch("5x5_reduce"), from, c.five_reduce, square(1)),
                                       c.five, square(5));
  const ValueId pooled =
      net.convolution(branch("pool_proj"), net.max_pool(branch("pool"), from, square(3)), c.pool, square(1));
  return net.concatenate(name, {one, three, five, pooled});
}

/// Table 1 of Szegedy et al., CVPR 2015, without the two auxiliary heads and local response normalisation.
Graph make_googlenet() {
  const Window halve = square(3, 2);
  NetworkBuilder net({224, 224, 3}, NetworkBuilder::Normalise::bias);
  ValueId x = net.convolution("conv1_7x7_s2", NetworkBuilder::input, 64, square(7, 2));
  x = net.max_pool("pool1", x, halve);
  x = net.convolution("conv2_reduce", x, 64, square(1));
  x = net.convolution("conv2_3x3", x, 192, square(3));
  x = net.max_pool("pool2", x, halve);
  x = inception(net, "inception_3a", x, {64, 96, 128, 16, 32, 32});
  x = inception(net, "inception_3b", x, {128, 128, 192, 32, 96, 64});
  x = net.max_pool("pool3", x, halve);
  x = inception(net, "inception_4a", x, {192, 96, 208, 16, 48, 64});
  x = inception(net, "inception_4b", x, {160, 112, 224, 24, 64, 64});
  x = inception(net, "inception_4c", x, {128, 128, 256, 24, 64, 64});
  x = inception(net, "inception_4d", x, {112, 144, 288, 32, 64, 64});
  x = inception(net, "inception_4e", x, {256, 160, 320, 32, 128, 128});
  x = net.max_pool("pool4", x, halve);
  x = inception(net, "inception_5a", x, {256, 160, 320, 32, 128, 128});
  x = inception(net, "inception_5b", x, {384, 192, 384, 48, 128, 128});
  x = net.fully_connected("fc", net.global_pool(x), 1000);
  return std::move(net).build(x);
}

}  // namespace

ZooEntry googlenet_entry() {
  return network({.name = "googlenet",
                  .summary = "GoogLeNet without auxiliary heads: 7.0 M parameters",
                  .source = "Szegedy et al., CVPR 2015"},
                 make_googlenet);
}

}  // namespace paragrad::nn::zoo
