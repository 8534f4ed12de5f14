#include "nn/zoo/sketch.hpp"
#include "nn/zoo/zoo.hpp"

namespace paragrad::nn::zoo {

/// One tower without local response normalisation, as built by TensorFlow's tf_cnn_benchmarks: images of 227 × 227.
/// Krizhevsky, Sutskever and Hinton, NIPS 2012; Krizhevsky, arXiv 1404.5997.
Layers make_alexnet() {
  const Filter halve = square(3, 2, Padding::valid);
  const Shape image{3, 227, 227};
  Sketch net(image, Normalise::bias);
  Shape x = net.convolution("conv1", image, 64, square(11, 4, Padding::valid));
  x = net.pool("pool1", x, halve);
  x = net.convolution("conv2", x, 192, square(5));
  x = net.pool("pool2", x, halve);
  x = net.convolution("conv3", x, 384, square(3));
  x = net.convolution("conv4", x, 384, square(3));
  x = net.convolution("conv5", x, 256, square(3));
  x = net.pool("pool5", x, halve);
  x = net.fully_connected("fc6", x, 4096);
  x = net.fully_connected("fc7", x, 4096);
  net.fully_connected("fc8", x, 1000);
  return net.layers();
}

}  // namespace paragrad::nn::zoo
