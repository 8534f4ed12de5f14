#include <array>

#include "nn/zoo/sketch.hpp"
#include "nn/zoo/zoo.hpp"

namespace paragrad::nn::zoo {
namespace {

/// 1×1 down to `channels`, 3×3, 1×1 up to four times `channels`, plus the shortcut.
Shape bottleneck(Sketch& net, const std::string& name, Shape from, std::size_t channels, std::size_t stride, bool first) {
  if (first) net.convolution(name + "/shortcut", from, 4 * channels, square(1, stride));
  Shape x = net.convolution(name + "/1x1a", from, channels, square(1, stride));
  x = net.convolution(name + "/3x3", x, channels, square(3));
  x = net.convolution(name + "/1x1b", x, 4 * channels, square(1));
  return net.add(name, x);
}

}  // namespace

/// He et al., CVPR 2016, Table 1, 50 layers; version 1: the stride is in the first 1×1 of a stage.
Layers make_resnet50() {
  constexpr std::array<std::size_t, 4> blocks{3, 4, 6, 3};
  const Shape image{3, 224, 224};
  Sketch net(image, Normalise::batch);
  Shape x = net.convolution("conv1", image, 64, square(7, 2));
  x = net.pool("pool1", x, square(3, 2));
  for (std::size_t stage = 0; stage < blocks.size(); ++stage)
    for (std::size_t block = 0; block < blocks[stage]; ++block) {
      const std::string name = "res" + std::to_string(stage + 2) + static_cast<char>('a' + block);
      x = bottleneck(net, name, x, std::size_t{64} << stage, stage > 0 && block == 0 ? 2 : 1, block == 0);
    }
  net.fully_connected("fc", net.global_pool(x), 1000);
  return net.layers();
}

}  // namespace paragrad::nn::zoo
