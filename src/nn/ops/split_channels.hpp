#pragma once

#include "nn/op.hpp"

namespace paragrad::nn {

/// Cuts a value along its last extent into outputs of the given extents.
class SplitChannels final : public Op {
 public:
  explicit SplitChannels(std::vector<std::size_t> extents) : extents_(std::move(extents)) {}

  std::string name() const override { return "split"; }
  std::vector<ValueType> infer(Types inputs) const override;
  bool backward_reads_input(std::size_t) const override { return false; }
  std::optional<OpPart> part(Types inputs, std::size_t workers, std::size_t index) const override;

  void forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override;

 private:
  std::vector<std::size_t> extents_;  // last ones of the outputs
};

}  // namespace paragrad::nn
