#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/layout.hpp"
#include "core/philox.hpp"
#include "core/range.hpp"

namespace paragrad::rbm {

/// Number of units, and the parameters' layout in one flat span: W[visible][hidden], b[hidden], c[visible]. The first two
/// are the parameters of the sigmoid layer (nn/ops/affine.hpp) that the machine becomes when the network is
/// unrolled.
struct Shape {
  std::size_t visible = 0;
  std::size_t hidden = 0;

  core::Range weights() const { return {0, visible * hidden}; }
  core::Range hidden_bias() const { return {weights().end, weights().end + hidden}; }
  core::Range layer() const { return {0, hidden_bias().end}; }  ///< W and b
  core::Range visible_bias() const { return {hidden_bias().end, hidden_bias().end + visible}; }
  std::size_t parameter_count() const { return visible_bias().end; }

  std::vector<core::Matrix> layout() const {
    return {{0, {hidden, visible}}, {hidden_bias().begin, {hidden, 1}}, {visible_bias().begin, {visible, 1}}};
  }
};

/// Draws weights from a normal distribution with this standard deviation and sets biases to 0, in host memory; the numbers
/// depend only on the stream and the position. G. Hinton, "A Practical Guide to Training Restricted Boltzmann Machines"
/// (2010), section 8, uses 0.01. Algorithm 2 of T. Ma's slides starts from W = 0: then all hidden units have the same input
/// and differ only by their random draws.
void initialise(const Shape& shape, double deviation, const core::RandomStream& random, std::span<float> parameters);

}  // namespace paragrad::rbm
