#pragma once

#include <cstddef>
#include <string>

#include "optim/local_optimiser.hpp"
#include "train/training_options.hpp"

namespace paragrad::train {

/// Turns learning rate and momentum, in whatever units they were given, into the numbers of single steps.
///
/// A momentum given as a time constant τ, in samples, is exp(-n/τ) for an update of n samples: what a gradient still counts
/// for τ samples later is 1/e, whatever the minibatch (CNTK's momentumAsTimeConstant). With it, or with unit gain, the rate
/// is scaled by 1-μ, so that all that a sample ever moves does not depend on n either: with unit gain to the learning rate
/// itself (v = μv + (1-μ)g, CNTK), otherwise to what classical momentum makes of it at the configured minibatch. A momentum
/// per minibatch becomes a time constant where the size of the minibatch is tuned.
class StepSizes {
 public:
  /// Throws ConfigError: momentum outside [0, 1), time constant below 0.
  /// rows_per_sample: where samples are sequences, what they are scored on, on average; rates, decay and time constants are
  /// in such rows (frames).
  explicit StepSizes(const TrainingOptions& options, double rows_per_sample = 1);

  /// rate: the schedule's. samples: of the update, of all workers that share it.
  optim::Step of(double rate, std::size_t samples) const;

  /// On `mine` of a shared minibatch's samples, of which there are `together`, without the gradients of the others: as long
  /// as the step on all of them would be.
  optim::Step of_part(double rate, std::size_t mine, std::size_t together) const;

  /// The units side by side, for the user.
  std::string describe() const;

 private:
  double rate_per_row(double rate, std::size_t samples) const;
  double momentum_of(std::size_t samples) const;
  double rows(std::size_t samples) const { return rows_per_sample_ * static_cast<double>(samples); }

  double rows_per_sample_;
  std::size_t minibatch_;  // as configured; 0: a block
  double initial_rate_;
  bool rate_per_minibatch_;
  double momentum_;       // per minibatch, where there is no time constant
  double time_constant_;  // samples; 0: none
  bool unit_gain_;
  double l2_;
};

/// The local update rule that the options ask for, which needs no velocity where they give no momentum.
optim::OptimiserOptions update_rule(const TrainingOptions& options);

}  // namespace paragrad::train
