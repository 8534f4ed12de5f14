#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/loss_sum.hpp"
#include "nn/graph.hpp"
#include "python/nanobind.hpp"
#include "python/of_call.hpp"

namespace paragrad::python {

/// A model written in Python, a paragrad.model.GivenModel, as the graphs of a run see it. Its functions are called from any
/// thread; they take the interpreter's lock.
class PythonModel {
 public:
  struct Array {
    std::string name;
    core::MatrixShape shape;
    std::vector<float> initial;
  };

  /// Consecutive arrays that a part of the model owns.
  struct Layer {
    std::string name;
    core::Range arrays;
    bool is_table = false;
    std::uint64_t flops = 0;  ///< of the forward pass, per row
  };

  /// Needs the interpreter's lock.
  explicit PythonModel(nanobind::object given);
  ~PythonModel();
  PythonModel(const PythonModel&) = delete;

  const std::string& name() const { return name_; }
  const std::string& sha256() const { return sha256_; }  ///< of its code, its constants and the shapes of its arrays
  std::size_t inputs() const { return inputs_; }
  std::size_t outputs() const { return outputs_; }
  const std::optional<nn::TokenInput>& tokens() const { return tokens_; }
  std::span<const Array> arrays() const { return arrays_; }
  std::span<const Layer> layers() const { return layers_; }
  const std::vector<nn::BufferSpec>& buffers() const { return buffers_; }

  /// A replica's memory: its parameters, of each array of the model, and its buffers, one after the other.
  struct Memory {
    std::vector<std::span<float>> parameters;  ///< for reading only
    std::span<float> buffers;
  };

  /// y[rows][outputs] of features, or tokens. seed: of random numbers; nothing: the model is scored, and backward() does not
  /// follow. Throws ConfigError with what Python raised.
  void forward(const Memory& memory, std::size_t rows, std::span<const float> features, std::span<const std::int32_t> tokens,
               std::optional<std::uint64_t> seed, std::span<float> y);

  /// After a forward pass of the same replica: gradients[k] = keep[k] gradients[k] + gradient of the loss with respect to
  /// array k. dy: that with respect to y.
  struct Gradient {
    std::span<float> into;
    float keep;
  };
  void backward(const Memory& memory, std::span<const float> dy, std::span<const Gradient> gradients);

  bool has_loss() const { return has_loss_; }

  /// Adds the model's own loss of outputs[rows][outputs] to `into`, and replaces them with its gradient. targets: of a
  /// regression, instead of labels.
  void loss(std::span<const std::int32_t> labels, std::span<const float> targets, std::span<float> outputs,
            backend::LossSum& into);

 private:
  nanobind::list views_of(const Memory& memory);

  nanobind::object given_;
  std::string name_, sha256_;
  std::size_t inputs_ = 0, outputs_ = 0;
  bool has_loss_ = false;
  std::optional<nn::TokenInput> tokens_;
  std::vector<Array> arrays_;
  std::vector<Layer> layers_;
  std::vector<nn::BufferSpec> buffers_;
  std::map<const float*, nanobind::object> saved_;  // by replica: what its forward pass keeps for the backward pass
};

using ModelOfCall = OfCall<PythonModel>;  ///< of a paragrad.model.GivenModel: `zoo:python`

}  // namespace paragrad::python
