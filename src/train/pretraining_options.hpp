#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "rbm/rbm_options.hpp"

namespace paragrad::train {

/// Options for pretraining a network's hidden layers as restricted Boltzmann machines (Algorithm 2 of Ma's slides).
struct PretrainingOptions {
  int epochs = 0;                  ///< per layer; 0: no pretraining
  std::vector<double> rates{0.1};  ///< learning rate per minibatch: one for all layers, or one per layer
  double momentum = 0.9;
  double l2 = 0.0002;
  std::size_t minibatch = 100;
  double weight_deviation = 0.01;          ///< standard deviation of initial weights; 0 as in the slides
  std::string activations = "sampled";     ///< of the layers below: see rbm::Activations
  std::string visible_units = "binomial";  ///< of the first machine; those of the others are binomial
  rbm::RbmOptions machine;                 ///< its visible units are set by visible_units
};

}  // namespace paragrad::train
