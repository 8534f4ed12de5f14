#include "optim/adam.hpp"

#include <cmath>

#include "backend/kernels/adam_update.hpp"
#include "backend/kernels/fill.hpp"
#include "optim/optimiser_context.hpp"

namespace paragrad::optim {

Adam::Adam(const backend::RuleNumbers& numbers, backend::Device& device, std::size_t parameters, bool decoupled)
    : numbers_(numbers),
      decoupled_(decoupled),
      gradients_(device.allocate(parameters)),
      first_(device.allocate(parameters)),
      second_(device.allocate(parameters)) {}

void Adam::describe_state(core::StateView& state) {
  state.add("first_moment", first_.span());
  state.add("second_moment", second_.span());
  state.add("steps", steps_);
}

std::optional<Moments> Adam::moments() {
  return Moments{first_.span(), second_.span(), numbers_.beta1, numbers_.beta2, &steps_};
}

void Adam::forget(backend::KernelQueue& queue) {
  queue.run(backend::Fill{0, first_.span()});
  queue.run(backend::Fill{0, second_.span()});
  steps_ = 0;
}

void Adam::update(backend::KernelQueue& queue, core::Range range, Step step, std::span<float> parameters) {
  if (range.empty()) return;
  queue.run(backend::AdamUpdate{constants(step), range.of(gradients_.span()), range.of(first_.span()),
                                range.of(second_.span()), range.of(parameters)});
}

backend::AdamStep Adam::constants(const Step& step) const {
  const double samples = step.samples, alpha = samples * step.rate, lambda = step.decay / samples;
  return {.rate = alpha / (1 - std::pow(numbers_.beta1, steps_)),
          .beta1 = numbers_.beta1,
          .beta2 = numbers_.beta2,
          .unbias = 1 / (1 - std::pow(numbers_.beta2, steps_)),
          .epsilon = numbers_.epsilon,
          .gradient_scale = 1 / samples,
          .decay = decoupled_ ? 0 : lambda,
          .shrink = decoupled_ ? alpha * lambda : 0};
}

OptimiserEntry adam_entry() {
  return entry_of(
      {.name = "adam", .summary = "Adam", .source = "Kingma and Ba, ICLR 2015"},
      [](const OptimiserContext& from, const RuleOptions& options) {
        return std::make_unique<Adam>(options.numbers(), from.device, from.parameters, false);
      },
      RuleOptions{Adam::published});
}

}  // namespace paragrad::optim
