#pragma once

#include <optional>

#include "backend/gpu_kernels/convolution.hpp"
#include "backend/gpu_kernels/gpu_context.hpp"
#include "backend/gpu_kernels/packed_convolution.hpp"
#include "backend/gpu_kernels/padded_channels.hpp"
#include "backend/gpu_kernels/products.hpp"
#include "backend/gpu_kernels/streams.hpp"
#include "backend/gpu_kernels/sums.hpp"
#include "backend/kernels/activate.hpp"
#include "backend/kernels/activation_backward.hpp"
#include "backend/kernels/convolution.hpp"

/// Bodies of the convolutions: by a library, as matrix products, or element by element.
namespace paragrad::backend::gpu_kernels {

float* patches_for(auto& gpu, const ConvolutionShape& shape) {
  return gpu.template scratch<float>("patches", patches_scratch(shape, gpu.runtime().most_patches));
}

/// The convolution as the library computes it, with packed filters, or a place for their gradient, in scratch memory;
/// nothing if the library cannot compute it or matrix products are faster. They are without tensor cores, where the
/// patches need no copying, and for the filters' gradient if a group's channels do not come in fours.
std::optional<PackedConvolution> for_library(auto& gpu, PackedConvolution convolution) {
  const ConvolutionShape& shape = convolution.shape;
  const bool of_filters = convolution.pass == PackedConvolution::Pass::backward_weights;
  const bool has_better_products =
      consists_of_products(shape) && (!gpu.runtime().uses_tensor_cores() || distance_of_patches(shape) > 0 ||
                                      (of_filters && shape.group_channels() % 4 != 0));
  if (!gpu.runtime().has_convolutions() || shape.rows == 0 || has_better_products) return std::nullopt;

  const float* const w = convolution.b;
  float* const packed = gpu.template scratch<float>("filters", shape.filters());
  if (of_filters)
    convolution.result = packed;
  else
    convolution.b = packed;
  if (!gpu.runtime().can_run(convolution)) return std::nullopt;
  if (!of_filters) gpu(PackFilters{shape.inner(), shape.outputs, w, packed}.in_tiles());
  return convolution;
}

void add_bias(auto& gpu, const ConvolutionForward& kernel) {
  if (!kernel.bias.empty())
    gpu(Stream<AddBias>{kernel.y.size(), {kernel.f, kernel.shape.outputs, kernel.bias.data(), kernel.y.data()}});
  else if (kernel.f != Activation::identity)
    run(gpu, Activate{kernel.f, kernel.y, kernel.y});
}

void run(auto& gpu, const ConvolutionForward& kernel) {
  const auto& [shape, x, w, bias, f, y] = kernel;
  if (const auto convolution =
          for_library(gpu, {PackedConvolution::Pass::forward, shape, 0, x.data(), w.data(), y.data()})) {
    gpu.runtime().convolve(*convolution);
    return add_bias(gpu, kernel);
  }
  if (!consists_of_products(shape)) return run_elements(gpu.runner(), kernel);
  const bool fused = shape.groups == 1 && !bias.empty();
  convolve(gpu.runtime(), kernel, gpu.runtime().most_patches, patches_for(gpu, shape),
           [&, f = f](const Multiplication& product) {
             if (fused)
               multiply_and_add(gpu, product, kernel.bias, f);
             else
               gpu.runtime().multiply(product);
           });
  if (!fused) add_bias(gpu, kernel);
}

void run(auto& gpu, const ConvolutionBackwardInput& kernel) {
  const auto& [shape, dy, w, keep, f, x, dx] = kernel;
  if (const auto convolution =
          for_library(gpu, {PackedConvolution::Pass::backward_input, shape, keep, dy.data(), w.data(), dx.data()})) {
    gpu.runtime().convolve(*convolution);
    if (f != Activation::identity) run(gpu, ActivationBackward{f, x, dx});
    return;
  }
  if (!consists_of_products(shape)) return run_elements(gpu.runner(), kernel);
  convolve_back(gpu.runtime(), kernel, gpu.runtime().most_patches, patches_for(gpu, shape));
  if (distance_of_patches(shape) > 0 && f != Activation::identity) run(gpu, ActivationBackward{f, x, dx});
}

void run(auto& gpu, const ConvolutionBackwardWeights& kernel) {
  const auto& [shape, x, dy, keep, dw] = kernel;
  if (const auto convolution =
          for_library(gpu, {PackedConvolution::Pass::backward_weights, shape, 0, x.data(), dy.data(), nullptr})) {
    gpu.runtime().convolve(*convolution);
    gpu(AddPackedFilters{shape.inner(), shape.outputs, convolution->result, keep, dw.data()}.in_tiles());
  } else if (gpu.runtime().uses_tensor_cores() && PaddedChannels::pays(shape)) {
    const PaddedChannels channels(shape);
    float* const images = gpu.template scratch<float>("images", channels.images());
    const std::span<float> filters(gpu.template scratch<float>("filters", channels.padded().filters()),
                                   channels.padded().filters());
    channels.copy_images(gpu.runner(), x.data(), images);
    const ConvolutionBackwardWeights padded{channels.padded(), {images, channels.images()}, dy, 0, filters};
    convolution_gradient(gpu.runtime(), padded, gpu.runtime().most_patches, patches_for(gpu, channels.padded()));
    channels.add_gradient(gpu.runner(), filters.data(), keep, dw.data());
  } else if (consists_of_products(shape)) {
    convolution_gradient(gpu.runtime(), kernel, gpu.runtime().most_patches, patches_for(gpu, shape));
  } else {
    return run_elements(gpu.runner(), kernel);
  }
  if (kernel.has_bias())
    run(gpu, BiasGradient{shape.rows * shape.positions(), shape.outputs, dy, keep, dw.subspan(shape.filters())});
}

}  // namespace paragrad::backend::gpu_kernels
