#include "nn/graph_copy.hpp"

#include <optional>
#include <utility>

#include "nn/ops/augment.hpp"

namespace paragrad::nn {

void GraphCopy::add_at_input(const std::string& name, std::shared_ptr<const Op> op) {
  values_[GraphBuilder::input] = builder_.add_node(name, std::move(op), {GraphBuilder::input}).front();
}

void GraphCopy::add(const Node& node, std::shared_ptr<const Op> op, std::span<const ValueId> and_then) {
  std::vector<ValueId> inputs;
  for (const ValueId value : node.inputs) inputs.push_back(values_.at(value));
  std::vector<std::optional<ParameterId>> shared;
  for (const ParameterId parameter : node.parameters) {
    const auto known = parameters_.find(parameter);
    shared.push_back(known == parameters_.end() ? std::nullopt : std::optional(known->second));
  }
  const std::vector<ValueId> outputs = builder_.add_node(node.name, std::move(op), std::move(inputs), shared);
  builder_.draw_like(original_, node);
  for (std::size_t i = 0; i < outputs.size(); ++i) values_[node.outputs[i]] = outputs[i];
  for (const ValueId value : and_then) values_[value] = outputs.back();
  const std::vector<std::optional<ParameterId>> now = builder_.parameters_of(outputs.front());
  for (std::size_t k = 0; k < now.size(); ++k) parameters_[node.parameters[k]] = *now[k];
}

Graph augment_input(const Graph& graph, const backend::Augmentation& augmentation) {
  GraphCopy copy(graph);
  copy.add_at_input("input/augment", std::make_shared<const Augment>(augmentation));
  for (const Node& node : graph.nodes()) copy.add(node, node.op);
  const ValueId output = copy.output();
  return std::move(copy).builder().build(output);
}

Graph synchronise_statistics(const Graph& graph, std::size_t workers, std::size_t index) {
  GraphCopy copy(graph);
  for (const Node& node : graph.nodes()) {
    auto synchronised = node.op->synchronised(workers, index);
    copy.add(node, synchronised ? std::move(synchronised) : node.op);
  }
  const ValueId output = copy.output();
  return std::move(copy).builder().build(output);
}

}  // namespace paragrad::nn
