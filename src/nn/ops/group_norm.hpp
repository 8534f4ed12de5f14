#pragma once

#include "backend/kernels/group_norm.hpp"
#include "nn/op.hpp"

namespace paragrad::nn {

/// Group normalisation of the last extent's channels, with scale and shift for each (backend/kernels/group_norm.hpp; Wu and
/// He, ECCV 2018). A sample's outputs depend on that sample alone, in training and afterwards alike. With one group it is
/// layer normalisation over a sample, with as many groups as channels instance normalisation.
class GroupNorm final : public Op {
 public:
  explicit GroupNorm(std::size_t groups, backend::Activation f = backend::Activation::identity, float epsilon = 1e-5f)
      : groups_(groups), f_(f), epsilon_(epsilon) {}

  std::string name() const override;
  std::vector<ValueType> infer(Types inputs) const override;
  std::vector<ParameterSpec> parameters(Types inputs) const override;
  std::vector<MemorySpec> memory(Types inputs) const override;
  backend::Activation activation() const override { return f_; }
  std::shared_ptr<const Op> with_activation(backend::Activation f) const override;

  void forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override;
  void backward_parameters(const Pass& pass) const override;

 private:
  backend::GroupShape shape(const ValueType& input, std::size_t rows) const;

  std::size_t groups_;
  backend::Activation f_;
  float epsilon_;
};

}  // namespace paragrad::nn
