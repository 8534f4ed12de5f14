#pragma once

#include "backend/kernel_queue.hpp"
#include "nn/op.hpp"

namespace paragrad::nn {

/// same: each extent of the output is that of the input divided by the stride, rounded up; valid: only where the filter
/// fits.
enum class Padding { same, valid };

struct Filter {
  std::size_t height;
  std::size_t width;
  std::size_t stride = 1;
  Padding padding = Padding::same;
};

constexpr Filter square(std::size_t side, std::size_t stride = 1, Padding padding = Padding::same) {
  return {side, side, stride, padding};
}

/// The shape after a filter of so many channels. Throws ConfigError if the filter is larger than the image.
ValueType filtered(const ValueType& from, std::size_t channels, const Filter& filter);

/// Convolution of {channels, height, width}, with or without a bias per channel. Shapes, parameters and costs; no kernels
/// yet.
class Convolution final : public Op {
 public:
  Convolution(std::size_t channels, const Filter& filter, bool bias, backend::Activation f = backend::Activation::identity)
      : channels_(channels), filter_(filter), bias_(bias), f_(f) {}

  std::string name() const override;
  std::vector<ValueType> infer(Types inputs) const override;
  std::vector<ParameterSpec> parameters(Types inputs) const override;
  bool computable() const override { return false; }
  backend::Activation activation() const override { return f_; }
  std::shared_ptr<const Op> with_activation(backend::Activation f) const override;

  void forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override;
  void backward_parameters(const Pass& pass) const override;

 private:
  void product(const Pass& pass, backend::KernelId kernel) const;

  std::size_t channels_;
  Filter filter_;
  bool bias_;
  backend::Activation f_;
};

/// Maximum or mean over windows of {channels, height, width}. Shapes and costs; no kernels yet.
class Pool final : public Op {
 public:
  enum class Kind { maximum, mean };
  Pool(Kind kind, const Filter& filter) : kind_(kind), filter_(filter) {}

  std::string name() const override;
  std::vector<ValueType> infer(Types inputs) const override;
  bool computable() const override { return false; }

  void forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override;

 private:
  Kind kind_;
  Filter filter_;
};

/// Joins images along their channels. Shapes and costs; no kernels yet.
class Concatenate final : public Op {
 public:
  std::string name() const override { return "concatenate"; }
  std::vector<ValueType> infer(Types inputs) const override;
  bool computable() const override { return false; }

  void forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override;
};

/// One direction of an LSTM with peepholes (Graves, arXiv 1308.0850), counted frame by frame: 4·cells gates on (inputs +
/// cells). Costs alone, for timing without sequences; Lstm computes.
class LstmFrame final : public Op {
 public:
  /// always_input_gradient: the gradient of the input is counted even where nothing needs it.
  LstmFrame(std::size_t cells, bool always_input_gradient) : cells_(cells), always_input_gradient_(always_input_gradient) {}

  std::string name() const override { return "lstm frame"; }
  std::vector<ValueType> infer(Types inputs) const override;
  std::vector<ParameterSpec> parameters(Types inputs) const override;
  bool computable() const override { return false; }
  bool has_state_gradient() const override { return always_input_gradient_; }

  void forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override;
  void backward_parameters(const Pass& pass) const override;

 private:
  void product(const Pass& pass, backend::KernelId kernel) const;

  std::size_t cells_;
  bool always_input_gradient_;
};

}  // namespace paragrad::nn
