#pragma once

#include <array>
#include <cstddef>

#include "nn/graph.hpp"

namespace paragrad::nn::zoo {

/// A residual network of bottlenecks for images of 224×224 (He et al., CVPR 2016, Table 1). Version 1: the stride is in the
/// first 1×1 of a stage. blocks: of each stage.
Graph make_resnet_of_bottlenecks(const std::array<std::size_t, 4>& blocks);

}  // namespace paragrad::nn::zoo
