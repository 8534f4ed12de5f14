#pragma once

#include <string>

#include "sim/platform.hpp"
#include "train/training_options.hpp"
#include "worlds/given_rate.hpp"

namespace paragrad::worlds {

/// The training rate of one device, if given by the user instead of predicted from the platform's roofline.
struct DeviceRate {
  double samples_per_s = 0;           ///< as given; 0: not given
  double roofline_samples_per_s = 0;  ///< predicted for the platform's device, on one worker's minibatch
  double compute_scale = 1;           ///< for sim::SimulationOptions

  bool given() const { return samples_per_s > 0; }
};

/// The number of the section [[rate]] in which the platform says how fast a device trains the model; -1: it does not. Throws
/// ConfigError if it has several.
int number_of_rate(const sim::Platform& platform, const std::string& model);

/// That rate of the model to be trained; 0: there is none, or device_rate() would refuse one.
double rate_of_model(const sim::Platform& platform, const train::TrainingOptions& options);

/// Scales a learner's computing times so that a single device trains `samples_per_s` at the minibatch that a worker has in
/// this run; the shares of layers, forward and backward pass stay as in the roofline. Throws ConfigError without a
/// minibatch.
DeviceRate device_rate(double samples_per_s, const sim::Platform& platform, const train::TrainingOptions& options,
                       int workers);

}  // namespace paragrad::worlds
