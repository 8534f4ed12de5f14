#include <map>

#include "nn/graph.hpp"
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
  GraphBuilder copy(graph.values().front().type);
  std::map<ValueId, ValueId> copied{{input, input}};
  std::map<ParameterId, ParameterId> parameters;
  for (const Node& node : graph.nodes()) {
    if (copied.contains(node.outputs.front())) continue;  // part of the node before
    std::vector<ValueId> inputs;
    for (const ValueId value : node.inputs) inputs.push_back(copied.at(value));
    std::vector<std::optional<ParameterId>> shared;
    for (const ParameterId parameter : node.parameters) {
      const auto known = parameters.find(parameter);
      shared.push_back(known == parameters.end() ? std::nullopt : std::optional(known->second));
    }
    std::shared_ptr<const Op> op = node.op;
    std::vector<ValueId> results = node.outputs;
    if (const Activate* activate = follower(graph, node))
      if (auto fused = node.op->with_activation(activate->function())) {
        op = std::move(fused);
        const Node& next = graph.nodes()[graph.values()[node.outputs.front()].consumers.front()];
        results.push_back(next.outputs.front());
      }
    const std::vector<ValueId> outputs = copy.add_node(node.name, op, std::move(inputs), shared);
    copy.draw_like(graph, node);
    for (std::size_t i = 0; i < results.size(); ++i) copied[results[i]] = outputs[std::min(i, outputs.size() - 1)];
    const std::vector<ParameterId>& now = copy.graph_.nodes_.back().parameters;
    for (std::size_t k = 0; k < now.size(); ++k) parameters[node.parameters[k]] = now[k];
  }
  return std::move(copy).finish(copied.at(graph.output()));
}

}  // namespace paragrad::nn
