#pragma once

#include "sim/platform.hpp"
#include "train/training_options.hpp"

namespace paragrad::worlds {

/// The training rate of one device, if given by the user instead of predicted from the platform's roofline.
struct DeviceRate {
  double samples_per_s = 0;           ///< as given; 0: not given
  double roofline_samples_per_s = 0;  ///< predicted for the platform's device, on one worker's minibatch
  double compute_scale = 1;           ///< for sim::SimulationOptions

  bool given() const { return samples_per_s > 0; }
};

/// Scales a learner's computing times so that a single device trains `samples_per_s` at the minibatch that a worker has in
/// this run; the shares of layers, forward and backward pass stay as in the roofline. Throws ConfigError without a
/// minibatch.
DeviceRate device_rate(double samples_per_s, const sim::Platform& platform, const train::TrainingOptions& options,
                       int workers);

}  // namespace paragrad::worlds
