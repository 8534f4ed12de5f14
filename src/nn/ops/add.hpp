#pragma once

#include "nn/op.hpp"

namespace paragrad::nn {

/// y = f(a + b), element by element: a residual connection.
class Add final : public Op {
 public:
  explicit Add(backend::Activation f = backend::Activation::identity) : f_(f) {}

  std::string name() const override;
  std::vector<ValueType> infer(Types inputs) const override;
  bool backward_reads_input(std::size_t) const override { return false; }
  backend::Activation activation() const override { return f_; }
  std::shared_ptr<const Op> with_activation(backend::Activation f) const override;
  std::optional<OpPart> part(Types inputs, std::size_t workers, std::size_t index) const override;

  void forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override;

 private:
  backend::Activation f_;
};

}  // namespace paragrad::nn
