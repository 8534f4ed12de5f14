#pragma once

#include "backend/kernel_queue.hpp"
#include "nn/op.hpp"

namespace paragrad::nn {

/// One direction of an LSTM with peepholes (Graves, arXiv 1308.0850), counted frame by frame: 4·cells gates on (inputs +
/// cells). Costs alone, for timing without sequences; Lstm computes.
class LstmFrame final : public Op {
 public:
  /// always_input_gradient: the gradient of the input is counted even where nothing needs it.
  LstmFrame(std::size_t cells, bool always_input_gradient) : cells_(cells), always_input_gradient_(always_input_gradient) {}

  std::string name() const override { return "lstm frame"; }
  std::vector<ValueType> infer(Types inputs) const override;
  std::vector<ParameterSpec> parameters(Types inputs) const override;
  bool computable() const override { return false; }
  bool has_state_gradient() const override { return always_input_gradient_; }

  void forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override;
  void backward_parameters(const Pass& pass) const override;

 private:
  void product(const Pass& pass, backend::KernelId kernel) const;

  std::size_t cells_;
  bool always_input_gradient_;
};

}  // namespace paragrad::nn
