#pragma once

#include "backend/gpu_kernels/grid.hpp"
#include "backend/kernels/convolution.hpp"

/// Convolutions computed by a library that requires packed filters: [outputs][height][width][channels of a group].
namespace paragrad::backend::gpu_kernels {

/// result = keep·result + a convolution, or one of its two gradients. keep = 0: the result is not read.
struct PackedConvolution {
  enum class Pass { forward, backward_input, backward_weights };

  Pass pass;
  ConvolutionShape shape;
  float keep;
  const float *a, *b;  ///< x and filters; dy and filters; x and dy
  float* result;       ///< y; dx; the gradient of the filters

  bool operator==(const PackedConvolution&) const = default;
};

/// packed[outputs][inner] = w[inner][outputs]
struct PackFilters {
  static constexpr const char* name = "convolution: packing filters";
  std::size_t inner, outputs;
  const float* w;
  float* packed;

  PARAGRAD_HOST_DEVICE float read(std::size_t i, std::size_t output) const { return w[i * outputs + output]; }
  PARAGRAD_HOST_DEVICE void write(std::size_t i, std::size_t output, float weight) const {
    packed[output * inner + i] = weight;
  }
  InTiles<PackFilters> in_tiles() const { return {inner, outputs, *this}; }
};

/// dw[inner][outputs] = keep·dw + packed[outputs][inner]
struct AddPackedFilters {
  static constexpr const char* name = "convolution: adding packed filters";
  std::size_t inner, outputs;
  const float* packed;
  float keep;
  float* dw;

  PARAGRAD_HOST_DEVICE float read(std::size_t output, std::size_t i) const { return packed[output * inner + i]; }
  PARAGRAD_HOST_DEVICE void write(std::size_t output, std::size_t i, float gradient) const {
    float& all = dw[i * outputs + output];
    all = accumulate(gradient, keep, all);
  }
  InTiles<AddPackedFilters> in_tiles() const { return {outputs, inner, *this}; }
};

}  // namespace paragrad::backend::gpu_kernels
