#pragma once

#include <cstddef>
#include <vector>

#include "nn/op.hpp"

namespace paragrad::nn {

class Graph;

/// One step of the backward pass: a phase of a node.
struct BackwardStep {
  enum class Phase { inputs, parameters };
  std::size_t node;
  Phase phase;
  bool begins_node = true;  ///< it is the node's first phase
};

/// Where memory of a node lies, in floats per row, or in floats if it is fixed.
struct PlannedMemory : MemorySpec {
  std::size_t offset = 0;           ///< in the forward pass
  std::size_t backward_offset = 0;  ///< in the backward pass
};

/// The order of the backward pass, and where everything lies in a replica's arena. Arrays that are never needed at the same
/// time share memory. Offsets are in floats per row; multiplied by the number of rows they are offsets in the arena, where
/// every array begins with a cache line if that number is a multiple of `rows_multiple`. Fixed memory is apart.
struct Plan {
  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

  std::vector<BackwardStep> backward;
  std::vector<std::size_t> values;                 ///< [values] offset of each; the graph's input has none
  std::vector<std::size_t> gradients;              ///< [values] of its gradient; nowhere if it has none
  std::vector<std::vector<PlannedMemory>> memory;  ///< [nodes][MemorySpec]
  std::size_t floats_per_row = 0;
  std::size_t rows_multiple = 1;
  std::size_t fixed_floats = 0;

  std::size_t steps_of_loss = 0;          ///< steps of the backward pass that belong to the loss
  bool gradient_replaces_output = false;  ///< the gradient of the loss overwrites the graph's output
};

Plan make_plan(const Graph& graph);

}  // namespace paragrad::nn
