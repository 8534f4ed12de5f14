#pragma once

#include <limits>

#include "nn/op.hpp"

namespace paragrad::nn {

/// Turns queries and keys by their positions (backend/kernels/rotate.hpp), before an Attention of as many heads.
class Rotary final : public Op {
 public:
  Rotary(std::size_t heads, double base) : heads_(heads), base_(base) {}

  std::string name() const override { return "rotary"; }
  std::vector<ValueType> infer(Types inputs) const override;
  std::optional<OpPart> part(Types inputs, std::size_t workers, std::size_t index) const override;
  bool reads_sequences() const override { return true; }
  std::optional<std::size_t> longest_window() const override { return std::numeric_limits<std::size_t>::max(); }
  bool backward_reads_input(std::size_t) const override { return false; }

  void forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override;

 private:
  std::size_t heads_;
  double base_;
};

}  // namespace paragrad::nn
