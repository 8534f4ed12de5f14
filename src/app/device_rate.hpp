#pragma once

#include "sim/platform.hpp"
#include "train/training_options.hpp"

namespace paragrad::app {

/// How fast one device trains, where that was measured and is not left to the platform's roofline.
struct DeviceRate {
  double samples_per_s = 0;           ///< given; 0: not
  double roofline_samples_per_s = 0;  ///< what the platform's device would do, on a minibatch of one worker
  double compute_scale = 1;           ///< for sim::SimulationOptions

  bool given() const { return samples_per_s > 0; }
};

/// Scales all that a learner computes so that one device alone trains `samples_per_s` at the minibatch that a worker has in
/// this run; the shares of layers, forward and backward stay those of the roofline. Throws ConfigError without a minibatch.
DeviceRate device_rate(double samples_per_s, const sim::Platform& platform, const train::TrainingOptions& options,
                       int workers);

}  // namespace paragrad::app
