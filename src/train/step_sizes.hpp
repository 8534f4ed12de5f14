#pragma once

#include <cstddef>
#include <string>

#include "optim/local_optimiser.hpp"
#include "train/training_options.hpp"

namespace paragrad::train {

/// Converts learning rate and momentum from the units they were given in to the values for a single step.
///
/// A momentum given as a time constant τ, in samples, is exp(-n/τ) for an update of n samples: after τ samples a gradient
/// counts 1/e, whatever the minibatch size (CNTK's momentumAsTimeConstant). With it, or with unit gain, the rate is scaled
/// by 1-μ, so that the total contribution of a sample does not depend on n either: with unit gain it is the learning rate
/// itself (v = μv + (1-μ)g, CNTK), otherwise what classical momentum gives at the configured minibatch size. Rules that have
/// unit gain by themselves (optim::has_unit_gain) get the rate as it is. A momentum per
/// minibatch is converted to a time constant if the minibatch size is tuned.
class StepSizes {
 public:
  /// Throws ConfigError: momentum outside [0, 1), time constant below 0.
  /// rows_per_sample: if samples are sequences, their mean number of scored rows (frames); rates, decay and time constants
  /// then count rows.
  explicit StepSizes(const TrainingOptions& options, double rows_per_sample = 1);

  /// rate: the schedule's. samples: in the update, over all workers that share it.
  optim::Step of(double rate, std::size_t samples) const;

  /// A step on `mine` of the `together` samples of a shared minibatch, without the gradients of the other workers: as long
  /// as a step on all of them would be.
  optim::Step of_part(double rate, std::size_t mine, std::size_t together) const;

  /// For the user: the values in all units.
  std::string describe() const;

 private:
  double rate_per_row(double rate, std::size_t samples) const;
  double momentum_of(std::size_t samples) const;
  double gain(double momentum, std::size_t samples) const;
  double rows(std::size_t samples) const { return rows_per_sample_ * static_cast<double>(samples); }

  double rows_per_sample_;
  std::size_t minibatch_;  // as configured; 0: a block
  double initial_rate_;
  bool rate_per_minibatch_;
  double momentum_;       // per minibatch, if there is no time constant
  double time_constant_;  // samples; 0: none
  bool unit_gain_;
  bool rule_has_unit_gain_;
  double l2_;
};

/// How StepSizes makes the momentum of an update from its samples. Throws ConfigError for an unknown optimiser.
optim::MomentumUnit momentum_unit(const TrainingOptions& options);

/// The local update rule selected by the options; without momentum it needs no velocity.
optim::OptimiserOptions update_rule(const TrainingOptions& options);

}  // namespace paragrad::train
