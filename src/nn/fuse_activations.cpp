#include "nn/graph.hpp"
#include "nn/graph_copy.hpp"
#include "nn/ops/activate.hpp"

namespace paragrad::nn {
namespace {

/// The activation function that alone follows a node, if its slope can be computed from its output.
const Activate* follower(const Graph& graph, const Node& node) {
  if (node.outputs.size() != 1) return nullptr;
  const Value& value = graph.values()[node.outputs.front()];
  if (value.consumers.size() != 1 || graph.output() == node.outputs.front()) return nullptr;
  const Node& next = graph.nodes()[value.consumers.front()];
  const auto* activate = dynamic_cast<const Activate*>(next.op.get());
  // A gradient of the output comes from the loss, which applies no slope.
  const bool ends = activate != nullptr && graph.output() == next.outputs.front();
  return activate != nullptr && !ends && backend::slope_of(activate->function()) == backend::SlopeOf::output ? activate
                                                                                                             : nullptr;
}

}  // namespace

/// Copies the graph; a node that can apply the function that follows it takes the place and the name of both.
Graph GraphBuilder::fuse_activations(const Graph& graph) {
  GraphCopy copy(graph);
  for (const Node& node : graph.nodes()) {
    if (copy.has(node.outputs.front())) continue;  // part of the node before
    const Activate* activate = follower(graph, node);
    if (auto fused = activate == nullptr ? nullptr : node.op->with_activation(activate->function()))
      copy.add(node, std::move(fused), graph.nodes()[graph.values()[node.outputs.front()].consumers.front()].outputs);
    else
      copy.add(node, node.op);
  }
  const ValueId output = copy.output();
  return std::move(copy).builder().finish(output);
}

}  // namespace paragrad::nn
