#include <algorithm>

#include "nn/graph.hpp"

namespace paragrad::nn {
namespace {

/// The node whose parameters a value comes from directly: operations without any, on one input, are passed over.
const Node* maker_of(const Graph& graph, ValueId value) {
  while (true) {
    const auto producer = graph.values()[value].producer;
    if (!producer) return nullptr;
    const Node& node = graph.nodes()[*producer];
    if (!node.parameters.empty()) return &node;
    if (node.inputs.size() != 1) return nullptr;
    value = node.inputs.front();
  }
}

bool has_matrix(std::span<const core::Matrix> matrices) {
  return std::ranges::any_of(matrices, [](const core::Matrix& matrix) { return !matrix.is_vector(); });
}

}  // namespace

/// Fills in what matrices are for and which block they belong to, node by node.
void GraphBuilder::assign_roles() {
  const bool has_blocks = std::ranges::any_of(graph_.nodes_, [](const Node& node) { return node.block >= 0; });
  const Node* const head = maker_of(graph_, graph_.output_);
  std::int32_t layer = -1;  // in a network without blocks
  auto next = graph_.layout_.begin();
  for (const Node& node : graph_.nodes_) {
    const auto end =
        std::find_if(next, graph_.layout_.end(), [&](const core::Matrix& matrix) { return matrix.begin >= node.owned.end; });
    const std::span<core::Matrix> matrices(next, end);
    next = end;
    const core::Role role = node.op->is_table() ? core::Role::embedding
                            : &node == head     ? core::Role::head
                                                : core::Role::hidden;
    const bool is_layer = !has_blocks && role == core::Role::hidden;
    if (is_layer && has_matrix(matrices)) ++layer;
    for (core::Matrix& matrix : matrices) {
      matrix.role = role;
      matrix.block = is_layer ? layer : node.block;
    }
  }
  for (const Node& node : graph_.nodes_) {
    const Node* const maker = node.op->stacked_inputs() > 1 ? maker_of(graph_, node.inputs.front()) : nullptr;
    if (maker == nullptr) continue;
    const std::size_t width = graph_.values_[node.inputs.front()].type.size();
    for (core::Matrix& matrix : graph_.layout_)
      if (matrix.begin >= maker->owned.begin && matrix.begin < maker->owned.end && matrix.shape.rows == width &&
          !matrix.is_vector())
        matrix.stacked = static_cast<std::uint16_t>(node.op->stacked_inputs());
  }
}

}  // namespace paragrad::nn
