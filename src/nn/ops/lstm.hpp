#pragma once

#include "backend/kernels/lstm.hpp"
#include "nn/op.hpp"

namespace paragrad::nn {

/// Long short-term memory (backend/kernels/lstm.hpp), in one or both directions of time; y concatenates the outputs of the
/// first and the second direction. Its rows must be frames of sequences (Pass::active). Parameters: W[in][directions][4][H]
/// and b[directions][4][H], then the recurrent weights, peepholes and projection. Initial weights: uniform in
/// ±sqrt(6/(in+H)) and ±sqrt(6/(R+H)) (Glorot and Bengio, AISTATS 2010); peepholes and biases start at zero, except the
/// biases of the forget gates, which start at 1 (Jozefowicz, Zaremba and Sutskever, ICML 2015).
///
/// Two workers can hold a direction each. Cells of one direction cannot be split: each needs the outputs of all others at
/// the previous frame, which would be an exchange of data per frame.
class Lstm final : public Op {
 public:
  explicit Lstm(const backend::LstmShape& shape) : shape_(shape) {}

  std::string name() const override;
  std::vector<ValueType> infer(Types inputs) const override;
  std::vector<ParameterSpec> parameters(Types inputs) const override;
  std::vector<MemorySpec> memory(Types inputs) const override;
  bool reads_sequences() const override { return true; }
  bool has_state_gradient() const override { return true; }
  bool backward_reads_output(std::size_t) const override { return true; }
  std::optional<OpPart> part(Types inputs, std::size_t workers, std::size_t index) const override;

  void forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override;
  void backward_parameters(const Pass& pass) const override;

 private:
  backend::LstmShape shape_;
};

}  // namespace paragrad::nn
