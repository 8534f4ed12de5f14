#include "optim/adam.hpp"

#include <cmath>

#include "backend/kernels/adam_update.hpp"
#include "backend/kernels/fill.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "optim/optimiser_context.hpp"

namespace paragrad::optim {

Adam::Adam(const OptimiserOptions& options, backend::Device& device, std::size_t parameters, bool decoupled)
    : beta1_(options.adam_beta1),
      beta2_(options.adam_beta2),
      epsilon_(options.adam_epsilon),
      decoupled_(decoupled),
      gradients_(device.allocate(parameters)),
      first_(device.allocate(parameters)),
      second_(device.allocate(parameters)) {
  for (const double beta : {beta1_, beta2_})
    if (!(beta >= 0 && beta < 1)) throw core::ConfigError(core::format("Adam's beta {} is outside [0, 1)", beta));
  if (!(epsilon_ > 0)) throw core::ConfigError(core::format("Adam's epsilon {} must be above 0", epsilon_));
}

void Adam::describe_state(core::StateView& state) {
  state.add("first_moment", first_.span());
  state.add("second_moment", second_.span());
  state.add("steps", steps_);
}

std::optional<Moments> Adam::moments() { return Moments{first_.span(), second_.span(), beta1_, beta2_, &steps_}; }

void Adam::forget(backend::KernelQueue& queue) {
  queue.run(backend::Fill{0, first_.span()});
  queue.run(backend::Fill{0, second_.span()});
  steps_ = 0;
}

void Adam::update(backend::KernelQueue& queue, core::Range range, Step step, std::span<float> parameters) {
  if (range.empty()) return;
  if (range.end == parameters.size()) steps_ += 1;  // a minibatch begins
  queue.run(backend::AdamUpdate{numbers(step), range.of(gradients_.span()), range.of(first_.span()),
                                range.of(second_.span()), range.of(parameters)});
}

backend::AdamStep Adam::numbers(const Step& step) const {
  const double samples = step.samples, alpha = samples * step.rate, lambda = step.decay / samples;
  return {.rate = alpha / (1 - std::pow(beta1_, steps_)),
          .beta1 = beta1_,
          .beta2 = beta2_,
          .unbias = 1 / (1 - std::pow(beta2_, steps_)),
          .epsilon = epsilon_,
          .gradient_scale = 1 / samples,
          .decay = decoupled_ ? 0 : lambda,
          .shrink = decoupled_ ? alpha * lambda : 0};
}

std::unique_ptr<LocalOptimiser> make_adam(const OptimiserContext& from) {
  return std::make_unique<Adam>(from.options, from.device, from.parameters, false);
}

}  // namespace paragrad::optim
