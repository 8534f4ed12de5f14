#pragma once

#include "nn/op.hpp"

namespace paragrad::nn {

/// y = x + a learned vector for the row's position in its window.
class Positions final : public Op {
 public:
  /// context: the longest window.
  Positions(std::size_t context, double deviation) : context_(context), deviation_(deviation) {}

  std::string name() const override { return "positions"; }
  std::vector<ValueType> infer(Types inputs) const override;
  std::vector<ParameterSpec> parameters(Types inputs) const override;
  std::optional<OpPart> part(Types inputs, std::size_t workers, std::size_t index) const override;
  bool reads_sequences() const override { return true; }
  std::optional<std::size_t> longest_window() const override { return context_; }
  bool is_table() const override { return true; }
  bool backward_reads_input(std::size_t) const override { return false; }

  void forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override;
  void backward_parameters(const Pass& pass) const override;

 private:
  std::size_t context_;
  double deviation_;
};

}  // namespace paragrad::nn
