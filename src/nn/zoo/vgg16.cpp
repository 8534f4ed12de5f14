#include <array>

#include "core/format.hpp"
#include "nn/zoo/network_builder.hpp"
#include "nn/zoo/zoo.hpp"

namespace paragrad::nn::zoo {
namespace {

/// Configuration D of Simonyan and Zisserman, ICLR 2015.
Graph make_vgg16() {
  struct Group {
    std::size_t channels, convolutions;
  };
  constexpr std::array<Group, 5> groups{{{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}}};
  NetworkBuilder net({224, 224, 3}, NetworkBuilder::Normalise::bias);
  ValueId x = NetworkBuilder::input;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (std::size_t i = 0; i < groups[g].convolutions; ++i)
      x = net.convolution(core::format("conv{}_{}", g + 1, i + 1), x, groups[g].channels, square(3));
    x = net.max_pool(core::format("pool{}", g + 1), x, square(2, 2));
  }
  x = net.relu("fc6", net.fully_connected("fc6", x, 4096));
  x = net.relu("fc7", net.fully_connected("fc7", x, 4096));
  x = net.fully_connected("fc8", x, 1000);
  return std::move(net).build(x);
}

}  // namespace

ZooEntry vgg16_entry() {
  return network({.name = "vgg16", .summary = "VGG-16: 138.4 M parameters", .source = "Simonyan and Zisserman, ICLR 2015"},
                 make_vgg16);
}

}  // namespace paragrad::nn::zoo
