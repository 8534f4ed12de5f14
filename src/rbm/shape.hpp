#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/layout.hpp"
#include "core/philox.hpp"
#include "core/range.hpp"

namespace paragrad::rbm {

/// How many units, and where the parameters lie in one flat span: W[visible][hidden], b[hidden], c[visible]. Its first two
/// parts are those of the sigmoid layer (nn/layers/affine_layer.hpp) that the machine becomes when a network is unrolled.
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

/// Weights from a normal distribution of this deviation, biases 0, into host memory; the numbers depend on the stream and
/// the position alone. 0.01 is the deviation of G. Hinton, "A Practical Guide to Training Restricted Boltzmann Machines"
/// (2010), section 8. Algorithm 2 of T. Ma's slides begins with W = 0: then all hidden units see the same, and only what
/// they draw makes them differ.
void initialise(const Shape& shape, double deviation, const core::RandomStream& random, std::span<float> parameters);

}  // namespace paragrad::rbm
