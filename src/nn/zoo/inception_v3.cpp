#include "nn/zoo/network_builder.hpp"
#include "nn/zoo/zoo.hpp"

namespace paragrad::nn::zoo {
namespace {

constexpr Window one = square(1);
constexpr Window three = square(3);
constexpr Window halve = square(3, 2, Padding::valid);
constexpr Window row{1, 7}, column{7, 1};

/// A sequence of convolutions: names, channels and filters.
struct Step {
  const char* name;
  std::size_t channels;
  Window window;
};

ValueId chain(NetworkBuilder& net, const std::string& module, ValueId x, std::initializer_list<Step> steps) {
  for (const Step& step : steps) x = net.convolution(module + "/" + step.name, x, step.channels, step.window);
  return x;
}

ValueId pooled(NetworkBuilder& net, const std::string& module, ValueId x, std::size_t channels) {
  return chain(net, module, net.mean_pool(module + "/average", x, three), {{"pool", channels, one}});
}

/// 35 × 35 (figure 5 of the paper).
ValueId module_35(NetworkBuilder& net, const std::string& name, ValueId x, std::size_t pool_channels) {
  return net.concatenate(
      name, {chain(net, name, x, {{"1x1", 64, one}}), chain(net, name, x, {{"5x5r", 48, one}, {"5x5", 64, square(5)}}),
             chain(net, name, x, {{"d3r", 64, one}, {"d3a", 96, three}, {"d3b", 96, three}}),
             pooled(net, name, x, pool_channels)});
}

ValueId reduction_35(NetworkBuilder& net, ValueId x) {
  return net.concatenate("6a", {chain(net, "6a", x, {{"3x3", 384, halve}}),
                                chain(net, "6a", x, {{"d3r", 64, one}, {"d3a", 96, three}, {"d3b", 96, halve}}),
                                net.max_pool("6a/pool", x, halve)});
}

/// 17 × 17 (figure 6): 7 × 7 as rows and columns.
ValueId module_17(NetworkBuilder& net, const std::string& name, ValueId x, std::size_t c) {
  return net.concatenate(
      name,
      {chain(net, name, x, {{"1x1", 192, one}}), chain(net, name, x, {{"7r", c, one}, {"7b", c, row}, {"7c", 192, column}}),
       chain(net, name, x, {{"d7r", c, one}, {"d7b", c, column}, {"d7c", c, row}, {"d7d", c, column}, {"d7e", 192, row}}),
       pooled(net, name, x, 192)});
}

ValueId reduction_17(NetworkBuilder& net, ValueId x) {
  return net.concatenate("7a",
                         {chain(net, "7a", x, {{"3r", 192, one}, {"3", 320, halve}}),
                          chain(net, "7a", x, {{"7r", 192, one}, {"7a", 192, row}, {"7b", 192, column}, {"7c", 192, halve}}),
                          net.max_pool("7a/pool", x, halve)});
}

/// 8 × 8 (figure 7): the last step of two branches is split in two.
ValueId module_8(NetworkBuilder& net, const std::string& name, ValueId x) {
  const ValueId first = chain(net, name, x, {{"1x1", 320, one}});
  const ValueId middle = chain(net, name, x, {{"3r", 384, one}});
  const ValueId middle_row = chain(net, name, middle, {{"3a", 384, {1, 3}}});
  const ValueId middle_column = chain(net, name, middle, {{"3b", 384, {3, 1}}});
  const ValueId deep = chain(net, name, x, {{"d3r", 448, one}, {"d3", 384, three}});
  const ValueId deep_row = chain(net, name, deep, {{"d3a", 384, {1, 3}}});
  const ValueId deep_column = chain(net, name, deep, {{"d3b", 384, {3, 1}}});
  return net.concatenate(name, {first, middle_row, middle_column, deep_row, deep_column, pooled(net, name, x, 192)});
}

/// Szegedy et al., CVPR 2016, as in TensorFlow's slim and tf_cnn_benchmarks, without the auxiliary head.
Graph make_inception_v3() {
  NetworkBuilder net({299, 299, 3}, NetworkBuilder::Normalise::batch);
  ValueId x = net.convolution("1a", NetworkBuilder::input, 32, halve);
  x = net.convolution("2a", x, 32, square(3, 1, Padding::valid));
  x = net.convolution("2b", x, 64, three);
  x = net.max_pool("3a", x, halve);
  x = net.convolution("3b", x, 80, one);
  x = net.convolution("4a", x, 192, square(3, 1, Padding::valid));
  x = net.max_pool("5a", x, halve);
  x = module_35(net, "5b", x, 32);
  x = module_35(net, "5c", x, 64);
  x = module_35(net, "5d", x, 64);
  x = reduction_35(net, x);
  x = module_17(net, "6b", x, 128);
  x = module_17(net, "6c", x, 160);
  x = module_17(net, "6d", x, 160);
  x = module_17(net, "6e", x, 192);
  x = reduction_17(net, x);
  x = module_8(net, "7b", x);
  x = module_8(net, "7c", x);
  x = net.fully_connected("fc", net.global_pool(x), 1000);
  return std::move(net).build(x);
}

}  // namespace

ZooEntry inception_v3_entry() {
  return network({.name = "inception_v3",
                  .summary = "Inception-v3 without auxiliary head, 299 x 299 images: 23.8 M parameters",
                  .source = "Szegedy et al., CVPR 2016"},
                 make_inception_v3);
}

}  // namespace paragrad::nn::zoo
