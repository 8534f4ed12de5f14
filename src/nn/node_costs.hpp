#pragma once

#include <cstdint>
#include <vector>

#include "nn/graph.hpp"

namespace paragrad::nn {

/// What a node computes and keeps for one row; of a text the mean over a window.
struct NodeCost {
  std::uint64_t multiplications = 0;   ///< of the forward pass, in matrix products and convolutions
  std::uint64_t flops = 0;             ///< of the forward and the backward pass, all kernels
  std::uint64_t activation_bytes = 0;  ///< outputs, and what is saved for the backward pass
};

/// The cost of each node, counted on a device that does not compute.
std::vector<NodeCost> node_costs(const Graph& graph);

}  // namespace paragrad::nn
