#pragma once

#include "nn/gradient_sink.hpp"
#include "nn/op.hpp"

namespace paragrad::nn {

struct AffineForm {
  bool bias = true;
  double deviation = 0;  ///< of normal initial weights; 0: as initial_weights.hpp says
};

/// y = f(x·W + b), where x may have any shape. Parameters: W[in][out] and, with a bias, b[out].
/// Initial weights: initial_weights.hpp. Biases start at zero.
class Affine final : public Op {
 public:
  /// next: the activation function that follows, for the initial weights; f: the one that is part of the operation.
  explicit Affine(std::size_t outputs, backend::Activation next = backend::Activation::identity,
                  backend::Activation f = backend::Activation::identity, const AffineForm& form = {})
      : outputs_(outputs), next_(next), f_(f), form_(form) {}

  std::string name() const override;
  std::vector<ValueType> infer(Types inputs) const override;
  std::vector<ParameterSpec> parameters(Types inputs) const override;
  backend::Activation activation() const override { return f_; }
  std::shared_ptr<const Op> with_activation(backend::Activation f) const override;
  std::optional<OpPart> part(Types inputs, std::size_t workers, std::size_t index) const override;

  void forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override;
  void backward_parameters(const Pass& pass) const override;

 private:
  std::size_t outputs_;
  backend::Activation next_, f_;
  AffineForm form_;
};

/// Gradient of the parameters of x·W + b from the gradient dz of its result: into W's and b's sinks, and the descent that
/// they ask for. ready_bias and ready_weights receive ranges of the two arrays as they are finished.
struct AffineGradient {
  std::size_t rows, inputs, outputs;
  std::span<const float> x, dz;
  GradientSink weights;
  GradientSink bias;  ///< empty: there is none

  void run(backend::KernelQueue& queue, const GradientReady& ready_weights, const GradientReady& ready_bias) const;
};

/// The input's gradient: (dz·Wᵀ)∘f'.
void affine_input_gradient(backend::KernelQueue& queue, std::size_t rows, std::size_t inputs, std::size_t outputs,
                           std::span<const float> dz, std::span<const float> weights, std::span<const float> x,
                           const InputSink& sink);

}  // namespace paragrad::nn
