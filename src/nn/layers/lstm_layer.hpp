#pragma once

#include "backend/kernels/lstm.hpp"
#include "nn/layer.hpp"
#include "nn/layers/affine_layer.hpp"

namespace paragrad::nn {

/// Long short-term memory (backend/kernels/lstm.hpp), in one or both directions of time; y concatenates the outputs of the
/// first and the second direction. Parameters: W[in][directions][4][H] and b[directions][4][H], then the recurrent
/// weights, peepholes and projection. Initial weights: uniform in ±sqrt(6/(in+H)) and ±sqrt(6/(R+H)) (Glorot and Bengio,
/// AISTATS 2010); peepholes and biases start at zero, except the biases of the forget gates, which start at 1 (Jozefowicz,
/// Zaremba and Sutskever, ICML 2015).
///
/// Its rows must be frames of sequences (Pass::active), and it must not be the last layer.
class Lstm : public Layer {
 public:
  Lstm(std::size_t inputs, const backend::LstmShape& shape)
      : shape_(shape), input_(inputs, shape.gate_width(), backend::Activation::identity) {}

  std::size_t inputs() const override { return input_.inputs(); }
  std::size_t outputs() const override { return shape_.output_width(); }
  std::size_t parameter_count() const override;
  std::vector<core::MatrixShape> matrices() const override;
  backend::Activation activation() const override { return backend::Activation::identity; }
  bool is_recurrent() const override { return true; }
  std::size_t memory() const override { return shape_.gate_width() + shape_.cell_width() + shape_.hidden_width(); }

  void initialise(const core::RandomStream& random, std::span<float> parameters) const override;
  void forward(const Pass& pass) const override;
  void backward_state(const Pass& pass, std::span<float> delta) const override;
  void backward_input(const Pass& pass, std::span<const float> delta, backend::Activation f,
                      std::span<float> delta_below) const override;
  void backward_parameters(const Pass& pass, std::span<const float> delta, GradientSink sink,
                           const GradientReady& ready) const override;

 private:
  core::Range recurrent_range() const;  ///< all parameters except W and b
  template <class Float>
  backend::LstmWeightsOf<Float> weights(std::span<Float> parameters) const;
  backend::LstmMemory memory_of(const Pass& pass) const;
  Pass of_input(const Pass& pass) const;

  backend::LstmShape shape_;
  Affine input_;
};

}  // namespace paragrad::nn
