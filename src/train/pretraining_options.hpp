#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "rbm/rbm_options.hpp"

namespace paragrad::train {

/// Of the machines that a network's hidden layers are before it is trained (Algorithm 2 of Ma's slides).
struct PretrainingOptions {
  int epochs = 0;                  ///< of each layer; 0: no pretraining
  std::vector<double> rates{0.1};  ///< learning rate per minibatch: one for all layers, or one for each
  double momentum = 0.9;
  double l2 = 0.0002;
  std::size_t minibatch = 100;
  double weight_deviation = 0.01;          ///< of initial weights; 0: none, as the slides have it
  std::string activations = "sampled";     ///< of the layers below: see rbm::Activations
  std::string visible_units = "binomial";  ///< of the first machine; those above see binomial ones
  rbm::RbmOptions machine;                 ///< its visible units are given by name
};

}  // namespace paragrad::train
