#pragma once

#include <limits>

#include "backend/kernels/attention.hpp"
#include "nn/op.hpp"

namespace paragrad::nn {

/// Causal attention of windows (backend/kernels/attention.hpp). Input: queries, keys and values, [3][heads][width].
class Attention final : public Op {
 public:
  explicit Attention(std::size_t heads) : heads_(heads) {}

  std::string name() const override;
  std::vector<ValueType> infer(Types inputs) const override;
  std::vector<MemorySpec> memory(Types inputs) const override;
  std::optional<OpPart> part(Types inputs, std::size_t workers, std::size_t index) const override;
  bool reads_sequences() const override { return true; }
  std::optional<std::size_t> longest_window() const override { return std::numeric_limits<std::size_t>::max(); }
  std::size_t stacked_inputs() const override { return 3; }  // queries, keys, values
  bool backward_reads_output(std::size_t) const override { return true; }

  void forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override;

 private:
  backend::AttentionShape shape(const Pass& pass) const;

  std::size_t heads_;
};

}  // namespace paragrad::nn
