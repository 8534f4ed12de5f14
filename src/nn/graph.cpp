#include "nn/graph.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::nn {

bool Graph::reads_sequences() const {
  return std::ranges::any_of(nodes_, [](const Node& node) { return node.op->reads_sequences(); });
}

namespace {

template <class Predicate>
const Node* find_node(std::span<const Node> nodes, Predicate predicate) {
  const auto found = std::ranges::find_if(nodes, predicate);
  return found == nodes.end() ? nullptr : &*found;
}

}  // namespace

const Node* Graph::not_computable() const {
  return find_node(nodes_, [](const Node& node) { return !node.op->computable(); });
}

const Node* Graph::needs_whole_minibatch() const {
  return find_node(nodes_, [](const Node& node) { return node.op->needs_whole_minibatch(); });
}

const Node* Graph::needs_two_rows() const {
  return find_node(nodes_, [&](const Node& node) { return node.op->values_in_variance(types_of(node.inputs)) == 1; });
}

void Graph::initialise(std::uint64_t seed, std::span<float> model) const {
  if (model.size() != model_size()) throw std::logic_error("not the size of the model");
  std::uint32_t stream = 0;  // one for each node with parameters
  for (NodeId n = 0; n < nodes_.size(); ++n) {
    if (nodes_[n].owned.empty()) continue;
    const core::RandomStream random(seed, core::Purpose::initial_weights, stream++);
    for (const Parameter& parameter : parameters_)
      if (parameter.owner == n) parameter.spec.initialise(random, parameter.range.of(model));
  }
  for (const Buffer& buffer : buffers_)
    if (const std::span<float> values = buffer.range.of(model.subspan(parameter_count()));
        buffer.spec.initial_values.empty())
      std::ranges::fill(values, buffer.spec.initial);
    else
      std::ranges::copy(buffer.spec.initial_values, values.begin());
}

std::vector<ValueType> Graph::types_of(std::span<const ValueId> values) const {
  std::vector<ValueType> types;
  for (const ValueId value : values) types.push_back(values_[value].type);
  return types;
}

GraphBuilder::GraphBuilder(ValueType input, std::optional<TokenInput> tokens) {
  graph_.values_.push_back({.name = "input", .type = std::move(input)});
  graph_.tokens_ = tokens;
}

GraphBuilder GraphBuilder::of_text(const TokenInput& tokens) {
  return GraphBuilder({{1}, DataType::int32, tokens.vocabulary}, tokens);
}

std::vector<std::optional<ParameterId>> GraphBuilder::parameters_of(ValueId value) const {
  const Node& node = producer_of(value);
  return {node.parameters.begin(), node.parameters.end()};
}

std::vector<ValueId> GraphBuilder::add_node(const std::string& name, std::shared_ptr<const Op> op,
                                            std::vector<ValueId> inputs,
                                            std::span<const std::optional<ParameterId>> shared) try {
  const NodeId id = graph_.nodes_.size();
  const std::vector<ValueType> types = graph_.types_of(inputs);
  Node node{.name = name, .op = op, .inputs = std::move(inputs), .stream = static_cast<std::uint32_t>(id), .block = block_};
  const std::vector<ValueType> outputs = op->infer(types);

  node.owned.begin = node.owned.end = graph_.parameter_count();
  const std::vector<ParameterSpec> specs = op->parameters(types);
  if (shared.size() > specs.size())
    throw core::ConfigError(core::format("has {} arrays of parameters, not {}", specs.size(), shared.size()));
  for (std::size_t k = 0; k < specs.size(); ++k) {
    if (k < shared.size() && shared[k]) {
      const ParameterSpec& other = graph_.parameters_[*shared[k]].spec;
      if (other.size() != specs[k].size())
        throw core::ConfigError(
            core::format("has {} '{}' and cannot share {} '{}'", specs[k].size(), specs[k].name, other.size(), other.name));
      graph_.parameters_[*shared[k]].last_user = id;
      node.parameters.push_back(*shared[k]);
      continue;
    }
    const core::Range range{node.owned.end, node.owned.end + specs[k].size()};
    std::size_t begin = node.owned.end;
    for (const core::MatrixShape& matrix : specs[k].matrices) {
      graph_.layout_.push_back({begin, matrix});
      begin += matrix.size();
    }
    node.owned.end = range.end;
    node.parameters.push_back(graph_.parameters_.size());
    graph_.parameters_.push_back({specs[k], range, id, id});
  }
  node.buffers.begin = node.buffers.end = graph_.buffer_count();
  for (const BufferSpec& spec : op->buffers(types)) {
    graph_.buffers_.push_back({spec, {node.buffers.end, node.buffers.end + spec.size}});
    node.buffers.end += spec.size;
  }

  bool has_gradient = !node.parameters.empty();
  for (const ValueId input : node.inputs) {
    graph_.values_[input].consumers.push_back(id);
    has_gradient = has_gradient || graph_.values_[input].has_gradient;
  }
  if (has_gradient && op->takes_only_data())
    throw core::ConfigError("comes after parameters: it changes data, and has no gradient");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    node.outputs.push_back(graph_.values_.size());
    const std::string of = outputs.size() == 1 ? name : core::format("{}/{}", name, i + 1);
    graph_.values_.push_back({.name = of, .type = outputs[i], .producer = id, .has_gradient = has_gradient});
  }
  graph_.nodes_.push_back(std::move(node));
  return graph_.nodes_.back().outputs;
} catch (const core::ConfigError& error) {
  throw core::ConfigError(core::format("{} ({}) {}", name, op->name(), error.what()));
}

ValueId GraphBuilder::only(const std::vector<ValueId>& outputs) {
  if (outputs.size() != 1) throw std::logic_error("an operation with several outputs: use add_node");
  return outputs.front();
}

void GraphBuilder::draw_like(const Graph& other, const Node& node) {
  graph_.nodes_.back().stream = node.stream;
  graph_.nodes_.back().block = node.block;
  graph_.streams_ = other.streams();
}

void GraphBuilder::check_windows() const {
  for (const Node& node : graph_.nodes_) {
    const std::optional<std::size_t> longest = node.op->longest_window();
    if (!longest) continue;
    if (!graph_.tokens_)
      throw core::ConfigError(core::format("{} ({}) is for windows of a text: begin with 'input tokens=256 context=64'",
                                           node.name, node.op->name()));
    if (*longest < graph_.tokens_->context)
      throw core::ConfigError(core::format("{} ({}) takes windows of {} tokens, and those of the input have {}", node.name,
                                           node.op->name(), *longest, graph_.tokens_->context));
  }
}

Graph GraphBuilder::finish(ValueId output) && {
  if (output == input) throw core::ConfigError("a network needs at least one node");
  graph_.output_ = output;
  for (const Node& node : graph_.nodes_) {
    const bool leads_on =
        std::ranges::any_of(node.outputs, [&](ValueId v) { return v == output || !graph_.values_[v].consumers.empty(); });
    if (!leads_on) throw core::ConfigError(core::format("{} ({}) does not lead to the output", node.name, node.op->name()));
  }
  check_windows();
  assign_roles();
  graph_.plan_ = make_plan(graph_);
  return std::move(graph_);
}

Graph GraphBuilder::build(ValueId output) && {
  graph_.output_ = output;
  if (graph_.streams_ == 0) graph_.streams_ = static_cast<std::uint32_t>(graph_.nodes_.size());
  return fuse_activations(graph_);
}

}  // namespace paragrad::nn
