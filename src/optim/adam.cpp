#include <cmath>
#include <utility>

#include "backend/kernels/adam_update.hpp"
#include "backend/kernels/fill.hpp"
#include "optim/optimiser_context.hpp"

namespace paragrad::optim {

backend::AdamStep adam_step(const backend::RuleNumbers& numbers, const Step& step, double steps, bool decoupled) {
  const double samples = step.samples, alpha = samples * step.rate, lambda = step.decay / samples;
  return {.rate = alpha / (1 - std::pow(numbers.beta1, steps)),
          .beta1 = numbers.beta1,
          .beta2 = numbers.beta2,
          .unbias = 1 / (1 - std::pow(numbers.beta2, steps)),
          .epsilon = numbers.epsilon,
          .gradient_scale = 1 / samples,
          .decay = decoupled ? 0 : lambda,
          .shrink = decoupled ? alpha * lambda : 0};
}

namespace {

/// Adam (Kingma and Ba, ICLR 2015) on the minibatch's mean gradient g/n, with n its samples:
///
///   d = g/n + λw;  m = β1 m + (1-β1) d;  v = β2 v + (1-β2) d²;  t = t + 1
///   w -= α m/(1-β1^t) / (√(v/(1-β2^t)) + ε)
///
/// α = n·rate, the rate of the whole minibatch: --learning-rate 0.001 per minibatch is the α of the paper, and a shorter
/// minibatch gets a proportionally smaller one. ε is relative to the mean gradient, as usual.
///
/// AdamW (Loshchilov and Hutter, ICLR 2019): d = g/n, and w -= αλw in addition.
class Adam : public LocalOptimiser {
 public:
  Adam(const OptimiserContext& from, const RuleOptions& options, bool decoupled)
      : numbers_(options.numbers()),
        decoupled_(decoupled),
        gradients_(from.device.allocate(from.parameters)),
        first_(from.device.allocate(from.parameters)),
        second_(from.device.allocate(from.parameters)) {}

  std::span<float> gradients() override { return gradients_.span(); }
  float keep(const Step&) const override { return 0; }
  bool descends() const override { return false; }
  void swap_gradients(core::Arena& other) override { std::swap(gradients_, other); }
  void begin_step() override { steps_ += 1; }

  void describe_state(core::StateView& state) override {
    state.add("first_moment", first_.span(), core::Rescale::mean);
    state.add("second_moment", second_.span(), core::Rescale::mean);
    state.add("steps", steps_, core::Rescale::mean);
  }

  std::optional<Moments> moments() override {
    return Moments{first_.span(), second_.span(), numbers_.beta1, numbers_.beta2, &steps_};
  }

  void forget(backend::KernelQueue& queue) override {
    queue.run(backend::Fill{0, first_.span()});
    queue.run(backend::Fill{0, second_.span()});
    steps_ = 0;
  }

  void update(backend::KernelQueue& queue, core::Range range, Step step, std::span<float> parameters) override {
    if (range.empty()) return;
    queue.run(backend::AdamUpdate{adam_step(numbers_, step, steps_, decoupled_), range.of(gradients_.span()),
                                  range.of(first_.span()), range.of(second_.span()), range.of(parameters)});
  }

 private:
  backend::RuleNumbers numbers_;
  bool decoupled_;
  core::Arena gradients_;
  core::Arena first_;   // m
  core::Arena second_;  // v
  double steps_ = 0;    // t
};

OptimiserEntry adam_family_entry(core::EntryInfo info, bool decoupled) {
  OptimiserEntry entry = entry_of(
      std::move(info),
      [decoupled](const OptimiserContext& from, const RuleOptions& options) {
        return std::make_unique<Adam>(from, options, decoupled);
      },
      RuleOptions{adam_numbers});
  entry.customary_rate = 0.001;
  return entry;
}

}  // namespace

OptimiserEntry adam_entry() {
  return adam_family_entry({.name = "adam", .summary = "Adam", .source = "Kingma and Ba, ICLR 2015"}, false);
}

OptimiserEntry adamw_entry() {
  return adam_family_entry(
      {.name = "adamw", .summary = "Adam with decoupled weight decay", .source = "Loshchilov and Hutter, ICLR 2019"}, true);
}

}  // namespace paragrad::optim
