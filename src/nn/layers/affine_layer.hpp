#pragma once

#include "nn/layer.hpp"

namespace paragrad::nn {

/// y = f(x·W + b). Parameters: W[in][out], then b[out].
/// Initial weights: uniform in ±sqrt(6/(in+out)), four times as wide for sigmoid (Glorot and Bengio, AISTATS 2010); normal
/// with variance 2/in for ReLU (He et al., ICCV 2015). Biases start at zero.
class Affine : public Layer {
 public:
  Affine(std::size_t inputs, std::size_t outputs, backend::Activation f) : inputs_(inputs), outputs_(outputs), f_(f) {}

  std::size_t inputs() const override { return inputs_; }
  std::size_t outputs() const override { return outputs_; }
  std::size_t parameter_count() const override { return inputs_ * outputs_ + outputs_; }
  std::vector<core::MatrixShape> matrices() const override { return {{outputs_, inputs_}, {outputs_, 1}}; }
  backend::Activation activation() const override { return f_; }

  std::unique_ptr<Layer> part(core::Range outputs) const override {
    return std::make_unique<Affine>(inputs_, outputs.size(), f_);
  }
  void initialise(const core::RandomStream& random, std::span<float> parameters) const override;
  void forward(const Pass& pass) const override;
  void backward_input(const Pass& pass, std::span<const float> delta, backend::Activation f,
                      std::span<float> delta_below) const override;
  void backward_parameters(const Pass& pass, std::span<const float> delta, GradientSink sink,
                           const GradientReady& ready) const override;

 private:
  std::size_t inputs_;
  std::size_t outputs_;
  backend::Activation f_;
};

}  // namespace paragrad::nn
