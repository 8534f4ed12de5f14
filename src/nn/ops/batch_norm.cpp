#include "nn/ops/batch_norm.hpp"

#include "nn/ops/checks.hpp"
#include "nn/ops/op_entry.hpp"
#include "nn/ops/scale_and_shift.hpp"
#include "nn/ops/sync_batch_norm.hpp"
#include "nn/pass.hpp"

namespace paragrad::nn {

backend::ChannelShape BatchNorm::shape_of(const Pass& pass) {
  const std::size_t channels = channels_of(pass.input_type(0));
  return {pass.rows() * pass.input_type(0).size() / channels, channels};
}

std::string BatchNorm::name() const { return with_function("batch_norm", f_); }

std::vector<ValueType> BatchNorm::infer(Types inputs) const {
  expect_inputs(inputs, 1);
  return {inputs[0]};
}

std::vector<ParameterSpec> BatchNorm::parameters(Types inputs) const { return {scale_and_shift(channels_of(inputs[0]))}; }

std::vector<BufferSpec> BatchNorm::buffers(Types inputs) const {
  return {{"running mean", channels_of(inputs[0]), 0}, {"running variance", channels_of(inputs[0]), 1}};
}

std::vector<MemorySpec> BatchNorm::memory(Types inputs) const {
  return {{"used", 2 * channels_of(inputs[0]), MemorySpec::Kind::fixed}};
}

std::shared_ptr<const Op> BatchNorm::with_activation(backend::Activation f) const {
  if (f_ != backend::Activation::identity) return nullptr;
  return std::make_shared<const BatchNorm>(f, momentum_, epsilon_);
}

std::optional<OpPart> BatchNorm::part(Types inputs, std::size_t workers, std::size_t index) const {
  if (inputs[0].shape.extents.size() != 1) return std::nullopt;
  const core::Range own = core::part_of(channels_of(inputs[0]), workers, index);
  return OpPart{OpPart::Kind::elementwise, std::make_shared<const BatchNorm>(f_, momentum_, epsilon_), {{own, own}}};
}

std::shared_ptr<const Op> BatchNorm::synchronised(std::size_t workers, std::size_t index) const {
  return std::make_shared<const SyncBatchNorm>(workers, index, f_, momentum_, epsilon_);
}

void BatchNorm::forward(const Pass& pass) const {
  pass.queue().run(backend::BatchNormForward{shape_of(pass), pass.training(), epsilon_, momentum_, f_, pass.x(),
                                             pass.parameters(0), pass.buffers(), pass.memory("used"), pass.y()});
}

// Both gradients come from the same sums.
void BatchNorm::backward_inputs(const Pass& pass) const {
  const InputSink dx = pass.dx();
  const GradientSink parameters = pass.gradient(0);
  pass.queue().run(backend::BatchNormBackward{shape_of(pass), pass.x(), pass.parameters(0), pass.memory("used"), pass.dy(),
                                              parameters.keep, parameters.into, dx.keep, dx.into});
  if (dx.wanted()) apply_slope(pass.queue(), dx);
}

void BatchNorm::backward_parameters(const Pass& pass) const {
  descend(pass.queue(), pass.gradient(0));
  pass.ready(0);
}

namespace {

struct BatchNormOptions {
  double momentum = 0.1, epsilon = 1e-5;

  void describe(core::OptionList& list) {
    list.number("momentum", momentum, {.least = 0, .most = 1}, "weight of a minibatch in the running statistics");
    list.number("epsilon", epsilon, {.least = 0, .most = 1, .without_least = true}, "added to the variance");
  }
};

}  // namespace

OpEntry batch_norm_op() {
  return op_entry<BatchNormOptions>(
      "batch_norm", "batch normalisation, with scale and shift", [](const BatchNormOptions& options, backend::Activation) {
        return std::make_shared<const BatchNorm>(backend::Activation::identity, static_cast<float>(options.momentum),
                                                 static_cast<float>(options.epsilon));
      });
}

}  // namespace paragrad::nn
