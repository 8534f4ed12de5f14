#include "nn/zoo/network_builder.hpp"
#include "nn/zoo/zoo.hpp"

namespace paragrad::nn::zoo {
namespace {

/// He et al., CVPR 2016, Table 1, 18 layers; where the number of channels grows the shortcut is a projection (option B).
Graph make_resnet18() {
  NetworkBuilder net({224, 224, 3}, NetworkBuilder::Normalise::batch);
  ValueId x = net.convolution("conv1", NetworkBuilder::input, 64, square(7, 2, Padding::of(3)));
  x = net.max_pool("pool1", x, square(3, 2, Padding::of(1)));
  for (std::size_t stage = 0; stage < 4; ++stage)
    for (std::size_t block = 0; block < 2; ++block)
      x = net.basic_block("res" + std::to_string(stage + 2) + static_cast<char>('a' + block), x, std::size_t{64} << stage,
                          stage > 0 && block == 0 ? 2 : 1);
  return std::move(net).build(net.fully_connected("fc", net.global_pool(x), 1000));
}

}  // namespace

ZooEntry resnet18_entry() {
  return network({.name = "resnet18", .summary = "ResNet-18: 11.7 M parameters", .source = "He et al., CVPR 2016"},
                 make_resnet18);
}

}  // namespace paragrad::nn::zoo
