#include "nn/ops/group_norm.hpp"

#include "nn/ops/checks.hpp"
#include "nn/ops/op_entry.hpp"
#include "nn/ops/scale_and_shift.hpp"
#include "nn/pass.hpp"

namespace paragrad::nn {

backend::GroupShape GroupNorm::shape(const ValueType& input, std::size_t rows) const {
  const std::size_t channels = input.shape.extents.back();
  return {rows, input.size() / channels, channels, groups_};
}

std::string GroupNorm::name() const { return with_function(core::format("group_norm {}", groups_), f_); }

std::vector<ValueType> GroupNorm::infer(Types inputs) const {
  expect_inputs(inputs, 1);
  const std::size_t channels = inputs[0].shape.extents.back();
  if (groups_ == 0 || channels % groups_ != 0)
    throw core::ConfigError(core::format("cannot divide {} channels into {} groups", channels, groups_));
  if (inputs[0].size() == groups_)
    throw core::ConfigError(core::format("{} groups of a single value are all normalised to 0: give fewer groups", groups_));
  return {inputs[0]};
}

std::vector<ParameterSpec> GroupNorm::parameters(Types inputs) const {
  return {scale_and_shift(inputs[0].shape.extents.back())};
}

std::vector<MemorySpec> GroupNorm::memory(Types) const { return {{"used", 2 * groups_}}; }

std::shared_ptr<const Op> GroupNorm::with_activation(backend::Activation f) const {
  if (f_ != backend::Activation::identity) return nullptr;
  return std::make_shared<const GroupNorm>(groups_, f, epsilon_);
}

void GroupNorm::forward(const Pass& pass) const {
  pass.queue().run(backend::GroupNormForward{shape(pass.input_type(0), pass.rows()), epsilon_, f_, pass.x(),
                                             pass.parameters(0), pass.memory("used"), pass.y()});
}

void GroupNorm::backward_inputs(const Pass& pass) const {
  const InputSink dx = pass.dx();
  if (!dx.wanted()) return;
  pass.queue().run(backend::GroupNormBackward{shape(pass.input_type(0), pass.rows()), pass.x(), pass.parameters(0),
                                              pass.memory("used"), pass.dy(), dx.keep, dx.into});
  apply_slope(pass.queue(), dx);
}

void GroupNorm::backward_parameters(const Pass& pass) const {
  const GradientSink parameters = pass.gradient(0);
  pass.queue().run(backend::GroupNormGradient{shape(pass.input_type(0), pass.rows()), pass.x(), pass.memory("used"),
                                              pass.dy(), parameters.keep, parameters.into});
  descend(pass.queue(), parameters);
  pass.ready(0);
}

namespace {

struct GroupNormOptions {
  std::size_t groups = 32;
  double epsilon = 1e-5;

  void describe(core::OptionList& list) {
    list.number("groups", groups, core::one_or_more, "groups of neighbouring channels, each normalised on its own");
    list.number("epsilon", epsilon, {.least = 0, .most = 1, .without_least = true}, "added to the variance");
  }
};

}  // namespace

OpEntry group_norm_op() {
  return op_entry<GroupNormOptions>("group_norm", "group normalisation, with scale and shift",
                                    [](const GroupNormOptions& options, backend::Activation) {
                                      return std::make_shared<const GroupNorm>(options.groups, backend::Activation::identity,
                                                                               static_cast<float>(options.epsilon));
                                    });
}

}  // namespace paragrad::nn
