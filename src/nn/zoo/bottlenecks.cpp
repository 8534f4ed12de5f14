#include "nn/zoo/bottlenecks.hpp"

#include <string>

#include "nn/zoo/network_builder.hpp"

namespace paragrad::nn::zoo {
namespace {

/// 1×1 down to `channels`, 3×3, 1×1 up to four times `channels`, plus the shortcut.
ValueId bottleneck(NetworkBuilder& net, const std::string& name, ValueId from, std::size_t channels, std::size_t stride,
                   bool first) {
  const ValueId shortcut = first ? net.linear_convolution(name + "/shortcut", from, 4 * channels, square(1, stride)) : from;
  ValueId x = net.convolution(name + "/1x1a", from, channels, square(1, stride));
  x = net.convolution(name + "/3x3", x, channels, square(3));
  x = net.linear_convolution(name + "/1x1b", x, 4 * channels, square(1));
  return net.add(name, x, shortcut);
}

/// "a", "b", …; in stages with more blocks than letters "0", "1", …
std::string suffix(std::size_t block, std::size_t blocks) {
  constexpr std::size_t letters = 26;
  return blocks > letters ? std::to_string(block) : std::string(1, static_cast<char>('a' + block));
}

}  // namespace

Graph make_resnet_of_bottlenecks(const std::array<std::size_t, 4>& blocks) {
  NetworkBuilder net({224, 224, 3}, NetworkBuilder::Normalise::batch);
  ValueId x = net.convolution("conv1", NetworkBuilder::input, 64, square(7, 2));
  x = net.max_pool("pool1", x, square(3, 2));
  for (std::size_t stage = 0; stage < blocks.size(); ++stage)
    for (std::size_t block = 0; block < blocks[stage]; ++block) {
      const std::string name = "res" + std::to_string(stage + 2) + suffix(block, blocks[stage]);
      x = bottleneck(net, name, x, std::size_t{64} << stage, stage > 0 && block == 0 ? 2 : 1, block == 0);
    }
  x = net.fully_connected("fc", net.global_pool(x), 1000);
  return std::move(net).build(x);
}

}  // namespace paragrad::nn::zoo
