#include "core/errors.hpp"
#include "nn/zoo/network_builder.hpp"
#include "nn/zoo/zoo.hpp"

namespace paragrad::nn::zoo {
namespace {

struct ResnetOptions {
  std::size_t depth = 20, side = 32, channels = 3, classes = 10;

  void describe(core::OptionList& list) {
    list.number("depth", depth, {.least = 8, .most = 1202}, "layers with weights: 6n + 2, such as 20, 32, 56 or 110");
    list.number("side", side, {.least = 4, .most = 1024}, "height and width of the images");
    list.number("channels", channels, {.least = 1, .most = 1024}, "channels of the images");
    list.number("classes", classes, {.least = 1, .most = 1000000}, "number of classes");
  }
};

/// He et al., CVPR 2016, Section 4.2: stages of 16, 32 and 64 channels with n blocks each. Where their number grows the
/// shortcut is a projection (the paper's option B; there it pads with zeros, option A).
Graph make_resnet(const ResnetOptions& options) {
  if (options.depth % 6 != 2)
    throw core::ConfigError(
        core::format("zoo model 'resnet': a depth of {} is not 6n + 2, such as 20, 32, 56 or 110", options.depth));
  NetworkBuilder net({options.side, options.side, options.channels}, NetworkBuilder::Normalise::batch);
  ValueId x = net.convolution("first", NetworkBuilder::input, 16, square(3, 1, Padding::of(1)));
  for (std::size_t stage = 0; stage < 3; ++stage)
    for (std::size_t block = 0; block < (options.depth - 2) / 6; ++block)
      x = net.basic_block(core::format("stage{}/{}", stage + 1, block + 1), x, std::size_t{16} << stage,
                          stage > 0 && block == 0 ? 2 : 1);
  return std::move(net).build(net.fully_connected("output", net.global_pool(x), options.classes));
}

}  // namespace

ZooEntry resnet_entry() {
  return network({.name = "resnet",
                  .summary = "residual network for small images, such as CIFAR's: 0.27 M parameters with 20 layers",
                  .source = "He et al., CVPR 2016, Section 4.2"},
                 make_resnet);
}

}  // namespace paragrad::nn::zoo
