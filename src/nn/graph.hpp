#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/layout.hpp"
#include "nn/execution_plan.hpp"
#include "nn/op.hpp"

namespace paragrad::nn {

using ValueId = std::size_t;
using NodeId = std::size_t;
using ParameterId = std::size_t;

/// The input of a graph that reads windows of a text: a token per row, below `vocabulary`.
struct TokenInput {
  std::size_t vocabulary = 0;
  std::size_t context = 0;  ///< tokens of a window
};

/// What a node computes or takes as an input, or the input of the graph (value 0).
struct Value {
  std::string name;
  ValueType type;
  std::optional<NodeId> producer{};
  std::vector<NodeId> consumers{};  ///< in execution order; twice if it is two inputs of a node
  bool has_gradient = false;        ///< it depends on parameters
};

/// A part of the flat parameters of a replica. It belongs to the first node that uses it, which is the last to contribute to
/// its gradient.
struct Parameter {
  ParameterSpec spec;
  core::Range range;
  NodeId owner;
  NodeId last_user;  ///< in execution order: the first to contribute to the gradient
};

struct Buffer {
  BufferSpec spec;
  core::Range range;  ///< of the flat buffers of a replica
};

struct Node {
  std::string name;
  std::shared_ptr<const Op> op;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs{};
  std::vector<ParameterId> parameters{};
  core::Range owned{};       ///< its own parameters, which its backward pass completes
  core::Range buffers{};     ///< of the flat buffers of a replica
  std::uint32_t stream = 0;  ///< of its random numbers, below Graph::streams()
  std::int32_t block = -1;   ///< see GraphBuilder::begin_block
};

/// Operations in execution order and the values between them; the layout of parameters and buffers; and the plan of memory
/// and of the backward pass. Made by a GraphBuilder, immutable, and shared by all replicas of a process.
///
/// The backward pass runs through the nodes from the last to the first. So it completes the parameters from their end to
/// their beginning, even those that several nodes share.
class Graph {
 public:
  std::span<const Node> nodes() const { return nodes_; }
  std::span<const Value> values() const { return values_; }
  std::span<const Parameter> parameters() const { return parameters_; }
  std::span<const Buffer> buffers() const { return buffers_; }
  const Plan& plan() const { return plan_; }

  ValueId output() const { return output_; }
  std::size_t inputs() const { return values_.front().type.size(); }              ///< elements per row
  const std::optional<TokenInput>& tokens() const { return tokens_; }             ///< if its input is a text
  std::size_t rows_per_sample() const { return tokens_ ? tokens_->context : 1; }  ///< where sequences are of one length
  std::size_t outputs() const { return values_[output_].type.size(); }            ///< elements per row
  std::span<const core::Matrix> layout() const { return layout_; }                ///< of the flat parameters
  std::size_t parameter_count() const { return layout_.empty() ? 0 : layout_.back().range().end; }
  std::size_t buffer_count() const { return buffers_.empty() ? 0 : buffers_.back().range.end; }

  /// Number of parameters and buffers: of the numbers that make up a trained model, in this order.
  std::size_t model_size() const { return parameter_count() + buffer_count(); }

  /// Number of streams of random numbers. A part of a graph has the whole graph's.
  std::uint32_t streams() const { return streams_; }

  bool reads_sequences() const;

  /// The first node that cannot be trained yet, or that needs whole minibatches; nullptr: none.
  const Node* not_computable() const;
  const Node* needs_whole_minibatch() const;

  /// The first node that needs more than one row for a variance; nullptr: none.
  const Node* needs_two_rows() const;

  /// Fills host memory of model_size(): a function of the seed alone.
  void initialise(std::uint64_t seed, std::span<float> model) const;

  std::vector<ValueType> types_of(std::span<const ValueId> values) const;

 private:
  friend class GraphBuilder;
  Graph() = default;

  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<Parameter> parameters_;
  std::vector<Buffer> buffers_;
  std::vector<core::Matrix> layout_;
  std::optional<TokenInput> tokens_;
  ValueId output_ = 0;
  std::uint32_t streams_ = 0;
  Plan plan_;
};

/// Adds nodes in execution order.
class GraphBuilder {
 public:
  explicit GraphBuilder(ValueType input, std::optional<TokenInput> tokens = {});
  static GraphBuilder of_text(const TokenInput& tokens);

  /// Adds a node and returns its outputs. `shared`: for each of its arrays of parameters one of an earlier node to use in
  /// its place, or none; may be shorter. Throws ConfigError, naming the node, if inputs or shared parameters do not fit.
  std::vector<ValueId> add_node(const std::string& name, std::shared_ptr<const Op> op, std::vector<ValueId> inputs,
                                std::span<const std::optional<ParameterId>> shared = {});

  /// Nodes that are added from now on belong to the next block of the network, as every layer of a transformer is one; after
  /// end_blocks() to none. In a network without blocks every node with a hidden matrix is one.
  void begin_block() { block_ = blocks_++; }
  void end_blocks() { block_ = -1; }

  /// The same for an operation with one output.
  template <std::derived_from<Op> OneOp>
  ValueId add(const std::string& name, OneOp op, std::vector<ValueId> inputs,
              std::span<const std::optional<ParameterId>> shared = {}) {
    return only(add_node(name, std::make_shared<const OneOp>(std::move(op)), std::move(inputs), shared));
  }

  /// The last node draws the random numbers that a node of another graph draws, and belongs to the same block.
  void draw_like(const Graph& other, const Node& node);

  static constexpr ValueId input = 0;
  const ValueType& type_of(ValueId value) const { return graph_.values_[value].type; }
  const Node& producer_of(ValueId value) const { return graph_.nodes_[graph_.values_[value].producer.value()]; }
  std::vector<std::optional<ParameterId>> parameters_of(ValueId value) const;

  /// Throws ConfigError for a node that does not lead to the output. Fuses activation functions into the operations before
  /// them (fuse_activations), where these can.
  Graph build(ValueId output) &&;

 private:
  static ValueId only(const std::vector<ValueId>& outputs);
  void check_windows() const;
  void assign_roles();
  Graph finish(ValueId output) &&;
  static Graph fuse_activations(const Graph& graph);

  Graph graph_;
  std::int32_t block_ = -1, blocks_ = 0;
};

}  // namespace paragrad::nn
