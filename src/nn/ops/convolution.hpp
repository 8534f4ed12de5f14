#pragma once

#include "nn/op.hpp"
#include "nn/ops/image_window.hpp"

namespace paragrad::nn {

/// Convolution of {height, width, channels}, with or without a bias per channel; with groups, each of the outputs' groups
/// sees the same share of the channels (Krizhevsky et al., NeurIPS 2012), and with as many groups as channels one channel.
/// Parameters: filters[height][width][channels / groups][outputs], then the bias. Initial weights as for Affine.
class Convolution final : public Op {
 public:
  /// next: the activation function that follows, for the initial weights; f: the one that is part of the operation.
  Convolution(std::size_t outputs, const Window& window, bool bias, std::size_t groups = 1,
              backend::Activation next = backend::Activation::relu, backend::Activation f = backend::Activation::identity)
      : outputs_(outputs), window_(window), bias_(bias), groups_(groups), next_(next), f_(f) {}

  std::string name() const override;
  std::vector<ValueType> infer(Types inputs) const override;
  std::vector<ParameterSpec> parameters(Types inputs) const override;
  backend::Activation activation() const override { return f_; }
  std::shared_ptr<const Op> with_activation(backend::Activation f) const override;

  void forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override;
  void backward_parameters(const Pass& pass) const override;

 private:
  backend::ConvolutionShape shape(const ValueType& input, std::size_t rows) const;

  std::size_t outputs_;
  Window window_;
  bool bias_;
  std::size_t groups_;
  backend::Activation next_, f_;
};

}  // namespace paragrad::nn
