#include "train/step_sizes.hpp"

#include <cmath>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::train {

StepSizes::StepSizes(const TrainingOptions& options, double rows_per_sample)
    : rows_per_sample_(rows_per_sample),
      minibatch_(options.minibatch),
      initial_rate_(options.schedule.initial_rate),
      rate_per_minibatch_(options.rate_per == "minibatch"),
      momentum_(options.momentum),
      time_constant_(options.momentum_time_constant),
      unit_gain_(options.unit_gain),
      rule_has_unit_gain_(optim::has_unit_gain(options.optimiser.name)),
      l2_(options.l2) {
  if (!(options.momentum >= 0 && options.momentum < 1))
    throw core::ConfigError(core::format("momentum {} is outside [0, 1)", options.momentum));
  if (!(time_constant_ >= 0) || !std::isfinite(time_constant_))
    throw core::ConfigError(core::format("the momentum time constant of {} samples must be 0 or more", time_constant_));
  if (!optim::heeds_momentum(options.optimiser.name)) momentum_ = time_constant_ = 0;
  if (!options.minibatch_search.enabled) return;
  if (minibatch_ == 0) throw core::ConfigError("`auto-minibatch` needs an initial size: give `minibatch`");
  if (momentum_ > 0 && time_constant_ == 0) time_constant_ = -rows(minibatch_) / std::log(momentum_);
}

double StepSizes::rate_per_row(double rate, std::size_t samples) const {
  if (!rate_per_minibatch_) return rate;
  return rate / rows(minibatch_ > 0 ? minibatch_ : samples);
}

double StepSizes::momentum_of(std::size_t samples) const {
  return time_constant_ > 0 ? std::exp(-rows(samples) / time_constant_) : momentum_;
}

double StepSizes::gain(double momentum, std::size_t samples) const {
  if (rule_has_unit_gain_) return 1;
  if (unit_gain_) return 1 - momentum;
  return time_constant_ > 0 ? (1 - momentum) / (1 - momentum_of(minibatch_ > 0 ? minibatch_ : samples)) : 1;
}

optim::Step StepSizes::of(double rate, std::size_t samples) const {
  const double momentum = momentum_of(samples);
  return {.rate = static_cast<float>(gain(momentum, samples) * rate_per_row(rate, samples)),
          .decay = static_cast<float>(l2_ * rows(samples)),
          .momentum = static_cast<float>(momentum),
          .samples = static_cast<float>(rows(samples))};
}

optim::Step StepSizes::of_part(double rate, std::size_t mine, std::size_t together) const {
  optim::Step step = of(rate, together);
  if (mine == together || mine == 0) return step;
  const float part = static_cast<float>(mine) / static_cast<float>(together);
  step.rate /= part;
  step.decay *= part;
  step.samples *= part;
  return step;
}

std::string StepSizes::describe() const {
  if (minibatch_ == 0) return "";
  const double minibatch = rows(minibatch_), per_sample = rate_per_row(initial_rate_, minibatch_),
               momentum = momentum_of(minibatch_);
  std::string text = core::format("learning rate {:.4g} per sample, {:.4g} per minibatch of {}", per_sample,
                                  per_sample * minibatch, minibatch_);
  if (momentum > 0)
    text += core::format(
        "; momentum {:.4g} per minibatch, time constant {:.4g} samples; total contribution of a sample: {:.4g} "
        "times its gradient",
        momentum, -minibatch / std::log(momentum), per_sample / (unit_gain_ || rule_has_unit_gain_ ? 1 : 1 - momentum));
  return text;
}

optim::MomentumUnit momentum_unit(const TrainingOptions& options) {
  const std::string& rule = options.optimiser.name;
  const bool becomes_time_constant = options.minibatch_search.enabled && options.momentum > 0;
  const bool per_sample = optim::heeds_momentum(rule) && (options.momentum_time_constant > 0 || becomes_time_constant);
  return {.per_sample = per_sample, .scales_rate = per_sample && !optim::has_unit_gain(rule)};
}

optim::OptimiserOptions update_rule(const TrainingOptions& options) {
  optim::OptimiserOptions rule = options.optimiser;
  rule.has_momentum = options.momentum > 0 || options.momentum_time_constant > 0;
  return rule;
}

}  // namespace paragrad::train
