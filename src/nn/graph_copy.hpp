#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "backend/augmentation.hpp"
#include "nn/graph.hpp"

namespace paragrad::nn {

/// Copies a graph node by node, with other operations in the place of some.
class GraphCopy {
 public:
  explicit GraphCopy(const Graph& original)
      : original_(original), builder_(original.values().front().type, original.tokens()) {}

  /// Puts an operation between the input and all that uses it.
  void add_at_input(const std::string& name, std::shared_ptr<const Op> op);

  /// Whether the copy computes this value already.
  bool has(ValueId value) const { return values_.contains(value); }

  /// Adds `op` in the place of a node. `and_then`: the values of later nodes that its last output takes the place of, too.
  void add(const Node& node, std::shared_ptr<const Op> op, std::span<const ValueId> and_then = {});

  ValueId output() const { return values_.at(original_.output()); }
  GraphBuilder builder() && { return std::move(builder_); }

 private:
  const Graph& original_;
  GraphBuilder builder_;
  std::map<ValueId, ValueId> values_{{GraphBuilder::input, GraphBuilder::input}};
  std::map<ParameterId, ParameterId> parameters_;
};

/// The graph for worker `index` of `workers` that train it together, each with a part of every minibatch, where batch
/// normalisation takes the statistics of whole minibatches (Op::synchronised). Parameters and buffers stay where they are.
Graph synchronise_statistics(const Graph& graph, std::size_t workers, std::size_t index);

/// The graph with images that are changed by chance in training.
Graph augment_input(const Graph& graph, const backend::Augmentation& augmentation);

}  // namespace paragrad::nn
