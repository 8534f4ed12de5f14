#include "nn/zoo/network_builder.hpp"
#include "nn/zoo/zoo.hpp"

namespace paragrad::nn::zoo {
namespace {

/// One tower without local response normalisation, as built by TensorFlow's tf_cnn_benchmarks: images of 227 × 227.
/// Krizhevsky, Sutskever and Hinton, NIPS 2012; Krizhevsky, arXiv 1404.5997.
Graph make_alexnet() {
  const Window halve = square(3, 2, Padding::valid);
  NetworkBuilder net({227, 227, 3}, NetworkBuilder::Normalise::bias);
  ValueId x = net.convolution("conv1", NetworkBuilder::input, 64, square(11, 4, Padding::valid));
  x = net.max_pool("pool1", x, halve);
  x = net.convolution("conv2", x, 192, square(5));
  x = net.max_pool("pool2", x, halve);
  x = net.convolution("conv3", x, 384, square(3));
  x = net.convolution("conv4", x, 384, square(3));
  x = net.convolution("conv5", x, 256, square(3));
  x = net.max_pool("pool5", x, halve);
  x = net.relu("fc6", net.fully_connected("fc6", x, 4096));
  x = net.relu("fc7", net.fully_connected("fc7", x, 4096));
  x = net.fully_connected("fc8", x, 1000);
  return std::move(net).build(x);
}

}  // namespace

ZooEntry alexnet_entry() {
  return network({.name = "alexnet",
                  .summary = "AlexNet, one tower, as in tf_cnn_benchmarks: 61.8 M parameters",
                  .source = "Krizhevsky, Sutskever and Hinton, NIPS 2012"},
                 make_alexnet);
}

}  // namespace paragrad::nn::zoo
