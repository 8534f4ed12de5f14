#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <type_traits>

#include "backend/gpu_kernels/grid.hpp"
#include "backend/gpu_kernels/multiplication.hpp"
#include "backend/kernels/convolution.hpp"
#include "backend/lanes.hpp"

/// Convolutions as matrix products (Chellapilla, Puri and Simard, IWFHR 2006): the patches of the image under the windows
/// are copied next to each other, [positions][inner], for as many rows at a time as the memory for them holds. Where the
/// patches already are a matrix, nothing is copied: windows of one place, and windows as large as the image.
namespace paragrad::backend::gpu_kernels {

/// Whether a convolution is computed by matrix products. With many small groups it is not: each output adds up its few terms
/// by itself.
inline bool consists_of_products(const ConvolutionShape& shape) {
  constexpr std::size_t least = 8;
  return shape.rows > 0 && (shape.groups == 1 || (shape.group_channels() >= least && shape.group_outputs() >= least));
}

/// One group of some rows of a convolution.
struct PartOfConvolution {
  ConvolutionShape shape;
  std::size_t first_row, rows, group;

  PARAGRAD_HOST_DEVICE std::size_t positions() const { return rows * shape.positions(); }
  PARAGRAD_HOST_DEVICE std::size_t first_channel() const { return group * shape.group_channels(); }
  PARAGRAD_HOST_DEVICE std::size_t first_output() const { return group * shape.group_outputs(); }
  /// Where the part begins in x and in y.
  std::size_t image() const { return first_row * shape.image() + first_channel(); }
  std::size_t output() const { return first_row * shape.positions() * shape.outputs + first_output(); }
};

/// The distance between patches if the image already consists of them, or 0 if they have to be copied.
inline std::size_t distance_of_patches(const ConvolutionShape& shape) {
  if (shape.down.is_each_place() && shape.across.is_each_place()) return shape.channels;
  if (shape.down.is_whole_image() && shape.across.is_whole_image() && shape.groups == 1) return shape.image();
  return 0;
}

/// The number of rows whose patches fit into `most_patches` elements; at least one.
inline std::size_t rows_of_patches(const ConvolutionShape& shape, std::size_t most_patches) {
  if (distance_of_patches(shape) > 0) return shape.rows;
  return std::clamp<std::size_t>(most_patches / std::max<std::size_t>(1, shape.positions() * shape.inner()), 1, shape.rows);
}

/// Elements of the scratch memory for patches.
inline std::size_t patches_scratch(const ConvolutionShape& shape, std::size_t most_patches) {
  if (distance_of_patches(shape) > 0) return 0;
  return rows_of_patches(shape, most_patches) * shape.positions() * shape.inner();
}

/// Calls with(part) for every group of all rows, as many rows at a time as fit.
template <class With>
void for_parts(const ConvolutionShape& shape, std::size_t most_patches, const With& with) {
  const std::size_t most = rows_of_patches(shape, most_patches);
  for (std::size_t row = 0; row < shape.rows; row += most)
    for (std::size_t group = 0; group < shape.groups; ++group)
      with(PartOfConvolution{shape, row, std::min(most, shape.rows - row), group});
}

/// Calls with(std::integral_constant<std::size_t, lanes>): 4 where all channels of a part come in aligned fours, else 1.
template <class With>
void with_lanes(const PartOfConvolution& part, std::initializer_list<const float*> arrays, const With& with) {
  if (part.shape.group_channels() % 4 == 0 && come_in_fours(part.shape.channels, arrays))
    with(std::integral_constant<std::size_t, 4>{});
  else
    with(std::integral_constant<std::size_t, 1>{});
}

/// patches[positions][inner], zeros outside the image.
template <std::size_t lanes>
struct CopyPatches {
  static constexpr const char* name = "convolution: patches";
  PartOfConvolution part;
  const float* x;
  float* patches;

  std::size_t count() const { return part.positions() * part.shape.inner() / lanes; }
  PARAGRAD_HOST_DEVICE void operator()(std::size_t of_lanes) const {
    const ConvolutionShape& shape = part.shape;
    const std::size_t i = of_lanes * lanes;
    const auto [position, of_patch] = core::divide(i, shape.inner());
    const auto [place, c] = core::divide(of_patch, shape.group_channels());
    const auto [ky, kx] = core::divide(place, shape.across.window);
    const auto [line, ox] = core::divide(position, shape.across.steps);
    const auto [image, oy] = core::divide(line, shape.down.steps);
    const std::size_t row = part.first_row + image, iy = shape.down.at(oy, ky), ix = shape.across.at(ox, kx);
    const bool inside = iy < shape.down.image && ix < shape.across.image;
    const std::size_t from =
        ((row * shape.down.image + iy) * shape.across.image + ix) * shape.channels + part.first_channel() + c;
    (inside ? Lanes<float, lanes>::load(x + from) : Lanes<float, lanes>{}).store(patches + i);
  }
};

/// dx = (keep·dx + the sum of the patches' elements that were copied from it) ∘ f'(x).
template <std::size_t lanes>
struct AddPatches {
  static constexpr const char* name = "convolution: sums of patches";
  PartOfConvolution part;
  const float* patches;
  float keep;
  Activation f;
  const float* x;
  float* dx;

  std::size_t count() const { return part.rows * part.shape.image() / part.shape.groups / lanes; }
  PARAGRAD_HOST_DEVICE void operator()(std::size_t of_lanes) const {
    const ConvolutionShape& shape = part.shape;
    const std::size_t i = of_lanes * lanes;
    const std::size_t depth = shape.group_channels(), inner = shape.inner();
    const auto [place, c] = core::divide(i, depth);
    const auto [line, ix] = core::divide(place, shape.across.image);
    const auto [row, iy] = core::divide(line, shape.down.image);
    Lanes<float, lanes> sum{};
    shape.down.for_covering(iy, [&](std::size_t ky, std::size_t oy) {
      shape.across.for_covering(ix, [&](std::size_t kx, std::size_t ox) {
        const std::size_t position = (row * shape.down.steps + oy) * shape.across.steps + ox;
        const auto patch =
            Lanes<float, lanes>::load(patches + position * inner + (ky * shape.across.window + kx) * depth + c);
        for (std::size_t lane = 0; lane < lanes; ++lane) sum.of[lane] += patch.of[lane];
      });
    });
    const std::size_t pixels = shape.down.image * shape.across.image;
    const std::size_t at = (part.first_row * pixels + place) * shape.channels + part.first_channel() + c;
    take_gradient(sum, keep, f, x, dx, at);
  }
};

/// The patches of a part as a matrix; copies them first if necessary.
template <class Runtime>
Multiplication::Input patches_of(Runtime& runtime, const PartOfConvolution& part, const float* x, float* patches) {
  if (const std::size_t distance = distance_of_patches(part.shape); distance > 0) return {x + part.image(), distance};
  const std::size_t inner = part.shape.inner();
  with_lanes(part, {x, patches}, [&](auto lanes) {
    const CopyPatches<lanes> copy{part, x, patches};
    runtime.run(Stream<CopyPatches<lanes>>{copy.count(), copy});
  });
  return {patches, inner};
}

/// y = x * w, a product per part, each given to multiply(product).
template <class Runtime, class Multiply>
void convolve(Runtime& runtime, const ConvolutionForward& kernel, std::size_t most_patches, float* patches,
              const Multiply& multiply) {
  const ConvolutionShape& shape = kernel.shape;
  for_parts(shape, most_patches, [&](const PartOfConvolution& part) {
    multiply(Multiplication{part.positions(),
                            shape.group_outputs(),
                            shape.inner(),
                            patches_of(runtime, part, kernel.x.data(), patches),
                            {kernel.w.data() + part.first_output(), shape.outputs},
                            0,
                            kernel.y.data() + part.output(),
                            shape.outputs});
  });
}

/// dx, without the slope of f if the patches are not copied.
template <class Runtime>
void convolve_back(Runtime& runtime, const ConvolutionBackwardInput& kernel, std::size_t most_patches, float* patches) {
  const ConvolutionShape& shape = kernel.shape;
  const std::size_t distance = distance_of_patches(shape);
  for_parts(shape, most_patches, [&](const PartOfConvolution& part) {
    float* const into = distance > 0 ? kernel.dx.data() + part.image() : patches;
    runtime.multiply({part.positions(),
                      shape.inner(),
                      shape.group_outputs(),
                      {kernel.dy.data() + part.output(), shape.outputs},
                      {kernel.w.data() + part.first_output(), shape.outputs, Transpose::yes},
                      distance > 0 ? kernel.keep : 0,
                      into,
                      distance > 0 ? distance : shape.inner()});
    if (distance > 0) return;
    with_lanes(part, {patches, kernel.x.data(), kernel.dx.data()}, [&](auto lanes) {
      const AddPatches<lanes> add{part, patches, kernel.keep, kernel.f, kernel.x.data(), kernel.dx.data()};
      runtime.run(Stream<AddPatches<lanes>>{add.count(), add});
    });
  });
}

/// The gradient of the filters.
template <class Runtime>
void convolution_gradient(Runtime& runtime, const ConvolutionBackwardWeights& kernel, std::size_t most_patches,
                          float* patches) {
  const ConvolutionShape& shape = kernel.shape;
  for_parts(shape, most_patches, [&](const PartOfConvolution& part) {
    Multiplication::Input transposed = patches_of(runtime, part, kernel.x.data(), patches);
    transposed.transpose = Transpose::yes;
    runtime.multiply({shape.inner(),
                      shape.group_outputs(),
                      part.positions(),
                      transposed,
                      {kernel.dy.data() + part.output(), shape.outputs},
                      part.first_row == 0 ? kernel.keep : 1,
                      kernel.dw.data() + part.first_output(),
                      shape.outputs});
  });
}

}  // namespace paragrad::backend::gpu_kernels
