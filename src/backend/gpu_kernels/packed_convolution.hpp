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

  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const { packed[i] = w[i % inner * outputs + i / inner]; }
};

/// dw[inner][outputs] = keep·dw + packed[outputs][inner]
struct AddPackedFilters {
  static constexpr const char* name = "convolution: adding packed filters";
  std::size_t inner, outputs;
  const float* packed;
  float keep;
  float* dw;

  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const {
    dw[i] = accumulate(packed[i % outputs * inner + i / outputs], keep, dw[i]);
  }
};

}  // namespace paragrad::backend::gpu_kernels
