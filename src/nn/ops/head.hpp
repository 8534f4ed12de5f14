#pragma once

#include "nn/op.hpp"

namespace paragrad::nn {

/// y = x·Wᵀ with W[outputs][inputs]: an output for each row of a table, such as an Embedding's.
class Head final : public Op {
 public:
  Head(std::size_t outputs, double deviation) : outputs_(outputs), deviation_(deviation) {}

  std::string name() const override { return "head"; }
  std::vector<ValueType> infer(Types inputs) const override;
  std::vector<ParameterSpec> parameters(Types inputs) const override;
  std::optional<OpPart> part(Types inputs, std::size_t workers, std::size_t index) const override;

  void forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override;
  void backward_parameters(const Pass& pass) const override;

 private:
  std::size_t outputs_;
  double deviation_;
};

}  // namespace paragrad::nn
