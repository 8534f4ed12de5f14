#pragma once

#include "backend/kernels/batch_norm.hpp"
#include "nn/op.hpp"

namespace paragrad::nn {

/// Batch normalisation over rows and positions, for each channel, with scale and shift (backend/kernels/batch_norm.hpp;
/// Ioffe and Szegedy, ICML 2015). The running mean and variance, used outside training, are buffers; each minibatch moves
/// them by `momentum`.
class BatchNorm final : public Op {
 public:
  explicit BatchNorm(backend::Activation f = backend::Activation::identity, float momentum = 0.1f, float epsilon = 1e-5f)
      : f_(f), momentum_(momentum), epsilon_(epsilon) {}

  std::string name() const override;
  std::vector<ValueType> infer(Types inputs) const override;
  std::vector<ParameterSpec> parameters(Types inputs) const override;
  std::vector<BufferSpec> buffers(Types inputs) const override;
  std::vector<MemorySpec> memory(Types inputs) const override;
  bool needs_whole_minibatch() const override { return true; }
  std::size_t values_in_variance(Types inputs) const override { return inputs[0].size() / channels_of(inputs[0]); }
  bool has_state_gradient() const override { return true; }
  backend::Activation activation() const override { return f_; }
  std::shared_ptr<const Op> with_activation(backend::Activation f) const override;
  std::optional<OpPart> part(Types inputs, std::size_t workers, std::size_t index) const override;
  std::shared_ptr<const Op> synchronised(std::size_t workers, std::size_t index) const override;

  void forward(const Pass& pass) const override;
  void backward_inputs(const Pass& pass) const override;
  void backward_parameters(const Pass& pass) const override;

  static std::size_t channels_of(const ValueType& value) { return value.shape.extents.back(); }
  static backend::ChannelShape shape_of(const Pass& pass);

 private:
  backend::Activation f_;
  float momentum_, epsilon_;
};

}  // namespace paragrad::nn
