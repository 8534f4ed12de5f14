#pragma once

#include "backend/kernels/row_norm.hpp"
#include "nn/op.hpp"

namespace paragrad::nn {

struct RowNormForm {
  bool centred = true;  ///< layer normalisation; otherwise RMS normalisation
  bool shift = true;    ///< whether shifts are learned, too
  double epsilon = 1e-5;
};

/// Each row brought to mean 0 and variance 1 (or to a mean square of 1), and each of its elements then scaled and shifted.
class RowNorm final : public Op {
 public:
  explicit RowNorm(const RowNormForm& form) : form_(form) {}

  std::string name() const override { return form_.centred ? "layer_norm" : "rms_norm"; }
  std::vector<ValueType> infer(Types inputs) const override;
  std::vector<ParameterSpec> parameters(Types inputs) const override;
  std::vector<MemorySpec> memory(Types inputs) const override;
  std::optional<OpPart> part(Types inputs, std::size_t workers, std::size_t index) const override;

  void forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override;
  void backward_parameters(const Pass& pass) const override;

 private:
  backend::RowNormShape shape(const ValueType& input, std::size_t rows) const {
    return {rows, input.size(), form_.centred, form_.shift};
  }

  RowNormForm form_;
};

}  // namespace paragrad::nn
