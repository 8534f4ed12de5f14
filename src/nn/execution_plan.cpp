#include "nn/execution_plan.hpp"

#include <algorithm>
#include <numeric>

#include "nn/graph.hpp"

namespace paragrad::nn {
namespace {

using Phase = BackwardStep::Phase;

constexpr std::size_t floats_of_line = 64 / sizeof(float);

bool has_gradient(const Graph& graph, const Node& node) {
  return std::ranges::any_of(node.outputs, [&](ValueId v) { return graph.values()[v].has_gradient; });
}

/// From the last node to the first. What a node's parameters need is left for after the exchange of data that follows it.
std::vector<BackwardStep> backward_steps(const Graph& graph) {
  std::vector<BackwardStep> steps;
  for (NodeId n = graph.nodes().size(); n-- > 0;) {
    const Node& node = graph.nodes()[n];
    if (!has_gradient(graph, node)) continue;
    const bool wanted = std::ranges::any_of(node.inputs, [&](ValueId v) { return graph.values()[v].has_gradient; });
    const auto* exchange = dynamic_cast<const ExchangeOp*>(node.op.get());
    const bool before = exchange != nullptr && !steps.empty() && steps.back().phase == Phase::parameters;
    const bool inputs = wanted || node.op->has_state_gradient();
    if (inputs) steps.insert(steps.end() - (before ? 1 : 0), {n, Phase::inputs, true});
    if (!node.parameters.empty()) steps.push_back({n, Phase::parameters, !inputs});
  }
  return steps;
}

/// An array that is needed from one time to another. Time counts the forward steps, the loss, and the backward steps.
struct Lifetime {
  std::size_t begin = 0, end = 0;
  std::size_t size = 0;  ///< floats per row
  std::size_t* offset = nullptr;
};

/// Gives each array a place where no other lies at any time of its life, the largest first, each at the lowest offset.
/// Returns the size of the whole.
std::size_t place(std::vector<Lifetime>& arrays) {
  std::ranges::stable_sort(arrays, [](const Lifetime& a, const Lifetime& b) { return a.size > b.size; });
  std::size_t whole = 0;
  std::vector<const Lifetime*> placed;  // by offset
  for (Lifetime& array : arrays) {
    std::size_t offset = 0;
    for (const Lifetime* other : placed) {
      if (other->end < array.begin || array.end < other->begin) continue;
      if (offset + array.size <= *other->offset) break;
      offset = std::max(offset, *other->offset + other->size);
    }
    *array.offset = offset;
    whole = std::max(whole, offset + array.size);
    placed.insert(std::ranges::upper_bound(placed, offset, {}, [](const Lifetime* one) { return *one->offset; }), &array);
  }
  return whole;
}

class Planner {
 public:
  explicit Planner(const Graph& graph) : graph_(graph), nodes_(graph.nodes().size()) {
    plan_.backward = backward_steps(graph);
    if (!plan_.backward.empty())
      if (const auto* last = dynamic_cast<const ExchangeOp*>(graph.nodes()[plan_.backward.front().node].op.get()))
        plan_.steps_of_loss = last->exchanges_backward() ? 0 : 1;
    first_step_.assign(nodes_, 0);
    last_step_.assign(nodes_, 0);
    for (std::size_t s = 0; s < plan_.backward.size(); ++s) {
      const NodeId node = plan_.backward[s].node;
      if (first_step_[node] == 0) first_step_[node] = nodes_ + 1 + s;
      last_step_[node] = nodes_ + 1 + s;
    }
  }

  Plan plan() {
    const auto values = graph_.values();
    plan_.values.assign(values.size(), Plan::nowhere);
    plan_.gradients.assign(values.size(), Plan::nowhere);
    plan_.memory.resize(nodes_);
    const Node& last = graph_.nodes()[*values[graph_.output()].producer];
    const auto which = static_cast<std::size_t>(std::ranges::find(last.outputs, graph_.output()) - last.outputs.begin());
    plan_.gradient_replaces_output = !last.op->backward_reads_output(which);
    for (ValueId v = 1; v < values.size(); ++v) add_value(v);
    for (NodeId n = 0; n < nodes_; ++n) add_memory(n);
    plan_.floats_per_row = place(arrays_);
    std::size_t common = floats_of_line;
    for (const Lifetime& array : arrays_) common = std::gcd(common, *array.offset);
    plan_.rows_multiple = floats_of_line / common;
    for (auto& of_node : plan_.memory)
      for (PlannedMemory& at : of_node)
        if (at.kind == MemorySpec::Kind::saved) at.backward_offset = at.offset;
    if (plan_.gradient_replaces_output) plan_.gradients[graph_.output()] = plan_.values[graph_.output()];
    return std::move(plan_);
  }

 private:
  void add_value(ValueId v) {
    const Value& value = graph_.values()[v];
    const NodeId producer = *value.producer;
    const Op& op = *graph_.nodes()[producer].op;
    const bool is_output = v == graph_.output(), replaced = is_output && plan_.gradient_replaces_output;
    std::size_t end = is_output ? nodes_ : producer;
    for (const NodeId consumer : value.consumers) end = std::max({end, consumer, last_read(consumer, v)});
    if (value.has_gradient) {
      for (std::size_t i = 0; i < graph_.nodes()[producer].outputs.size(); ++i)
        if (graph_.nodes()[producer].outputs[i] == v && op.backward_reads_output(i))
          end = std::max(end, last_step_[producer]);
      if (op.activation() != backend::Activation::identity && !value.consumers.empty())
        end = std::max(end, last_step_[value.consumers.front()]);
      if (replaced) end = std::max(end, last_step_[producer]);
    }
    arrays_.push_back({producer, end, value.type.size(), &plan_.values[v]});
    if (!value.has_gradient || replaced) return;
    const std::size_t begin = is_output                 ? nodes_
                              : value.consumers.empty() ? first_step_[producer]
                                                        : first_step_[value.consumers.back()];
    arrays_.push_back({begin, last_step_[producer], value.type.size(), &plan_.gradients[v]});
  }

  /// The last step of a consumer's backward pass, if it reads the value.
  std::size_t last_read(NodeId consumer, ValueId v) const {
    const Node& node = graph_.nodes()[consumer];
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i] == v && node.op->backward_reads_input(i)) return last_step_[consumer];
    return 0;
  }

  void add_memory(NodeId n) {
    const Node& node = graph_.nodes()[n];
    const auto specs = node.op->memory(graph_.types_of(node.inputs));
    plan_.memory[n].resize(specs.size());
    for (std::size_t m = 0; m < specs.size(); ++m) {
      PlannedMemory& at = plan_.memory[n][m];
      static_cast<MemorySpec&>(at) = specs[m];
      if (at.kind == MemorySpec::Kind::fixed) {
        at.offset = plan_.fixed_floats;
        plan_.fixed_floats += at.size;
        continue;
      }
      const std::size_t end = std::max(n, last_step_[n]);
      if (at.kind == MemorySpec::Kind::saved) {
        arrays_.push_back({n, end, at.size, &at.offset});
      } else {
        arrays_.push_back({n, n, at.size, &at.offset});
        if (end > n) arrays_.push_back({first_step_[n], end, at.size, &at.backward_offset});
      }
    }
  }

  const Graph& graph_;
  std::size_t nodes_;
  std::vector<std::size_t> first_step_, last_step_;  // [nodes] times of its backward pass; 0: none
  std::vector<Lifetime> arrays_;
  Plan plan_;
};

}  // namespace

Plan make_plan(const Graph& graph) { return Planner(graph).plan(); }

}  // namespace paragrad::nn
