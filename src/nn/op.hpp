#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/activation.hpp"
#include "core/layout.hpp"
#include "core/philox.hpp"
#include "core/range.hpp"
#include "nn/value.hpp"

namespace paragrad::nn {

class Op;
class Pass;
class ReplicaPeers;

/// An array of parameters, which several nodes may share.
struct ParameterSpec {
  std::string name;
  std::vector<core::MatrixShape> matrices;  ///< that make it up, in order

  /// Fills host memory; the numbers depend only on the stream and the position.
  std::function<void(const core::RandomStream&, std::span<float>)> initialise;

  std::size_t size() const {
    std::size_t elements = 0;
    for (const core::MatrixShape& matrix : matrices) elements += matrix.size();
    return elements;
  }
};

/// State of a replica that is neither a parameter nor an activation, like the running statistics of batch normalisation.
/// At the end of an epoch and before other validations workers replace it by their mean, weighted by the samples of each.
struct BufferSpec {
  std::string name;
  std::size_t size = 0;
  float initial = 0;
  std::vector<float> initial_values{};  ///< [size], if they differ
};

/// Memory that a node uses besides its inputs and outputs.
struct MemorySpec {
  enum class Kind {
    saved,    ///< from the forward to the backward pass, `size` floats per row
    scratch,  ///< within a call, `size` floats per row
    fixed     ///< from the forward to the backward pass, `size` floats in all
  };
  std::string name;
  std::size_t size = 0;
  Kind kind = Kind::saved;
};

/// What one of several workers computes of an operation, for tensor parallelism. A worker's part of a value is a range of
/// its elements, core::part_of.
struct OpPart {
  enum class Kind {
    outputs,      ///< from whole inputs its part of the outputs
    elementwise,  ///< from its parts of the inputs its part of the outputs
    addend,       ///< from its parts of the inputs an addend of the whole outputs
    replicated    ///< from whole inputs the whole outputs, as all workers do; only without parameters
  };
  Kind kind;
  std::shared_ptr<const Op> op;
  std::vector<std::vector<core::Range>> rows{};  ///< of each matrix of each array of parameters: the worker's
};

/// An operation of a graph: its shapes, parameters and memory, its forward and its backward pass. Owns no memory and is
/// shared by all replicas.
///
/// The backward pass has two phases, so that communication can begin before the second: inputs, and then parameters.
class Op {
 public:
  using Types = std::span<const ValueType>;

  virtual ~Op() = default;

  virtual std::string name() const = 0;

  /// The types of its outputs. Throws ConfigError, a sentence that continues the node's name, if the inputs do not fit.
  virtual std::vector<ValueType> infer(Types inputs) const = 0;

  virtual std::vector<ParameterSpec> parameters(Types /*inputs*/) const { return {}; }
  virtual std::vector<BufferSpec> buffers(Types /*inputs*/) const { return {}; }
  virtual std::vector<MemorySpec> memory(Types /*inputs*/) const { return {}; }

  // ---- traits ----

  /// False for an operation that has costs but no kernels yet; it runs only on a device that does not compute.
  virtual bool computable() const { return true; }

  /// Whether the rows of a minibatch are frames of sequences that depend on each other.
  virtual bool reads_sequences() const { return false; }

  /// The longest window that an operation on windows of a text takes: sequences of one length. Nothing: it is no such
  /// operation.
  virtual std::optional<std::size_t> longest_window() const { return std::nullopt; }

  /// Whether a sample's outputs depend on the other samples of its minibatch, which then cannot be cut into micro-batches.
  virtual bool needs_whole_minibatch() const { return false; }

  /// In training it takes the variance of each channel over the minibatch: from so many values of a row. 0: it takes none.
  virtual std::size_t values_in_variance(Types /*inputs*/) const { return 0; }

  /// Its parameters are vectors to look up: core::Role::embedding.
  virtual bool is_table() const { return false; }

  /// Its input consists of so many vectors of equal length, which are the outputs of separate matrices.
  virtual std::size_t stacked_inputs() const { return 1; }

  /// It has no backward pass: its inputs must not depend on parameters.
  virtual bool takes_only_data() const { return false; }

  /// The backward pass reads this input or output.
  virtual bool backward_reads_input(std::size_t /*input*/) const { return true; }
  virtual bool backward_reads_output(std::size_t /*output*/) const { return false; }

  /// The first phase of the backward pass has work even if no input's gradient is wanted.
  virtual bool has_state_gradient() const { return false; }

  /// The activation function whose slope those who compute the gradient of the output must apply (InputSink).
  virtual backend::Activation activation() const { return backend::Activation::identity; }

  /// The same operation followed by f; nullptr if it cannot do both at once.
  virtual std::shared_ptr<const Op> with_activation(backend::Activation /*f*/) const { return nullptr; }

  /// The part of worker `index` of `workers`; nullopt if the operation cannot be split. Throws ConfigError, a sentence that
  /// continues the node's name, if it cannot be split for so many.
  virtual std::optional<OpPart> part(Types /*inputs*/, std::size_t /*workers*/, std::size_t /*index*/) const {
    return std::nullopt;
  }

  /// The same operation for worker `index` of `workers`, each with a part of every minibatch, which computes the statistics
  /// of whole minibatches together with the others; nullptr: it has none.
  virtual std::shared_ptr<const Op> synchronised(std::size_t /*workers*/, std::size_t /*index*/) const { return nullptr; }

  // ---- execution ----

  virtual void forward(const Pass& pass) const = 0;
  virtual void backward_inputs(const Pass& pass) const = 0;
  virtual void backward_parameters(const Pass& /*pass*/) const {}
};

/// An operation that workers do together: they exchange data in the middle of it. The forward pass is forward(),
/// exchange_forward(), after_forward(); the backward pass likewise, beginning with backward_inputs(). In a pass without rows
/// only these operations run.
class ExchangeOp : public Op {
 public:
  virtual void exchange_forward(const Pass& pass, ReplicaPeers& peers) const = 0;
  virtual void after_forward(const Pass& pass) const = 0;
  virtual bool exchanges_backward() const = 0;  ///< if not, the next two are not called
  virtual void exchange_backward(const Pass& pass, ReplicaPeers& peers) const = 0;
  virtual void after_backward(const Pass& pass) const = 0;
};

}  // namespace paragrad::nn
