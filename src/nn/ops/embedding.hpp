#pragma once

#include "nn/op.hpp"

namespace paragrad::nn {

/// y = the row of a table[vocabulary][width] that a token numbers; the vocabulary is the input's. The table may be shared
/// with a Head.
class Embedding final : public Op {
 public:
  Embedding(std::size_t width, double deviation) : width_(width), deviation_(deviation) {}

  std::string name() const override { return "embedding"; }
  std::vector<ValueType> infer(Types inputs) const override;
  std::vector<ParameterSpec> parameters(Types inputs) const override;
  std::optional<OpPart> part(Types inputs, std::size_t workers, std::size_t index) const override;
  bool is_table() const override { return true; }
  bool backward_reads_input(std::size_t) const override { return false; }  // tokens have no place in the plan of memory

  void forward(const Pass& pass) const override;
  void backward_inputs(const Pass&) const override {}
  void backward_parameters(const Pass& pass) const override;

 private:
  std::size_t width_;
  double deviation_;
};

}  // namespace paragrad::nn
