#pragma once

#include "nn/op.hpp"

namespace paragrad::nn {

/// Joins up to 16 values along their last extent: images along their channels.
class Concatenate final : public Op {
 public:
  std::string name() const override { return "concatenate"; }
  std::vector<ValueType> infer(Types inputs) const override;
  bool backward_reads_input(std::size_t) const override { return false; }

  void forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override;
};

}  // namespace paragrad::nn
