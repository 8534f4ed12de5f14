#pragma once

#include "nn/op.hpp"

namespace paragrad::nn {

/// y = a∘b, of two values of one shape.
class Multiply final : public Op {
 public:
  std::string name() const override { return "multiply"; }
  std::vector<ValueType> infer(Types inputs) const override;
  std::optional<OpPart> part(Types inputs, std::size_t workers, std::size_t index) const override;

  void forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override;
};

}  // namespace paragrad::nn
