#pragma once

#include "nn/op.hpp"

namespace paragrad::nn {

/// y = f(x), element by element. One whose slope follows from its output is fused into the operation before it, if that
/// can do both (fuse_activations.cpp).
class Activate final : public Op {
 public:
  explicit Activate(backend::Activation f) : f_(f) {}

  backend::Activation function() const { return f_; }

  std::string name() const override { return std::string(backend::activation_name(f_)); }
  std::vector<ValueType> infer(Types inputs) const override;
  bool backward_reads_input(std::size_t) const override { return !reads_output(); }
  bool backward_reads_output(std::size_t) const override { return reads_output(); }
  std::optional<OpPart> part(Types inputs, std::size_t workers, std::size_t index) const override;

  void forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override;

 private:
  bool reads_output() const { return backend::slope_of(f_) == backend::SlopeOf::output; }

  backend::Activation f_;
};

}  // namespace paragrad::nn
