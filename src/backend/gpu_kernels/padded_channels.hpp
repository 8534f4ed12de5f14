#pragma once

#include <cstddef>

#include "backend/gpu_kernels/convolution.hpp"
#include "backend/gpu_kernels/grid.hpp"
#include "backend/kernels/convolution.hpp"
#include "backend/lanes.hpp"

/// Gradients of the filters from images whose channels do not come in fours, such as colour images. Patches would have to be
/// copied number by number, and their rows be multiplied by kernels for rows of any length: it costs less to copy the images
/// to more channels, with zeros.
namespace paragrad::backend::gpu_kernels {

/// into[pixels][padded channels] = x[pixels][channels] and zeros.
struct PadChannels {
  static constexpr const char* name = "convolution: padding channels";
  std::size_t channels, fours;
  const float* x;
  float* into;

  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const {
    const auto [pixel, four] = core::divide(i, fours);
    Lanes<float, 4> made{};
    for (std::size_t lane = 0; lane < 4; ++lane)
      if (4 * four + lane < channels) made.of[lane] = x[pixel * channels + 4 * four + lane];
    made.store(into + 4 * i);
  }
};

/// dw[places][channels][outputs] = keep·dw + padded[places][padded channels][outputs]
struct AddWithoutPadding {
  static constexpr const char* name = "convolution: taking from padded filters";
  std::size_t channels, padded_channels, outputs;
  const float* padded;
  float keep;
  float* dw;

  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const {
    const auto [row, output] = core::divide(i, outputs);
    const auto [place, c] = core::divide(row, channels);
    dw[i] = accumulate(padded[(place * padded_channels + c) * outputs + output], keep, dw[i]);
  }
};

/// The gradient of a convolution's filters from images with more channels.
class PaddedChannels {
 public:
  /// Whether that is faster on tensor cores. Measured with three channels (ResNet-50 on an NVIDIA H200); fewer would at
  /// least double the arithmetic.
  static bool pays(const ConvolutionShape& shape) {
    return shape.rows > 0 && shape.groups == 1 && shape.channels > 2 && shape.channels % 4 != 0 &&
           distance_of_patches(shape) == 0;
  }

  explicit PaddedChannels(const ConvolutionShape& shape) : shape_(shape), padded_(shape) {
    padded_.channels = (shape.channels + 3) / 4 * 4;
  }

  const ConvolutionShape& padded() const { return padded_; }
  std::size_t images() const { return padded_.rows * padded_.image(); }

  template <class Run>
  void copy_images(const Run& run, const float* x, float* images_memory) const {
    const PadChannels pad{shape_.channels, padded_.channels / 4, x, images_memory};
    run(Stream<PadChannels>{images() / 4, pad});
  }
  template <class Run>
  void add_gradient(const Run& run, const float* gradient, float keep, float* dw) const {
    const AddWithoutPadding add{shape_.channels, padded_.channels, shape_.outputs, gradient, keep, dw};
    run(Stream<AddWithoutPadding>{shape_.filters(), add});
  }

 private:
  ConvolutionShape shape_, padded_;
};

}  // namespace paragrad::backend::gpu_kernels
