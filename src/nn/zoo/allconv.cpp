#include "nn/zoo/network_builder.hpp"
#include "nn/zoo/zoo.hpp"

namespace paragrad::nn::zoo {
namespace {

struct AllconvOptions {
  std::size_t side = 32, channels = 3, classes = 10;

  void describe(core::OptionList& list) {
    list.number("side", side, {.least = 4, .most = 1024}, "height and width of the images");
    list.number("channels", channels, {.least = 1, .most = 1024}, "channels of the images");
    list.number("classes", classes, {.least = 1, .most = 1000000}, "number of classes");
  }
};

/// Springenberg et al., ICLR 2015 workshop, Table 1, All-CNN-C, with batch normalisation for its dropout and zeros around
/// every 3×3 convolution: strides instead of pooling, and at the end a mean over places instead of affine layers.
Graph make_allconv(const AllconvOptions& options) {
  NetworkBuilder net({options.side, options.side, options.channels}, NetworkBuilder::Normalise::batch);
  const auto three = [](std::size_t stride) { return square(3, stride, Padding::of(1)); };
  ValueId x = NetworkBuilder::input;
  std::size_t layer = 0;
  for (const std::size_t channels : {96, 192})
    for (const std::size_t stride : {1, 1, 2})
      x = net.convolution("conv" + std::to_string(++layer), x, channels, three(stride));
  x = net.convolution("conv7", x, 192, three(1));
  x = net.convolution("conv8", x, 192, square(1));
  x = net.linear_convolution("conv9", x, options.classes, square(1));
  return std::move(net).build(net.global_pool(x));
}

}  // namespace

ZooEntry allconv_entry() {
  return network({.name = "allconv",
                  .summary = "convolutions alone, for small images: 1.4 M parameters",
                  .source = "Springenberg et al., ICLR 2015 workshop"},
                 make_allconv);
}

}  // namespace paragrad::nn::zoo
