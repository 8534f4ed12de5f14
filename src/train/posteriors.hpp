#pragma once

#include <span>
#include <vector>

#include "backend/kernels.hpp"
#include "train/input/training_data.hpp"

namespace paragrad::train {

/// Logarithms of the probabilities that a network gives to each class, [rows][classes], for the rows of a subset in the
/// order of the file: softmax of its outputs, reckoned in double. A recurrent network goes over what its sequences are cut
/// into, and a row's numbers come from the piece that it is scored in. Memory: for all rows at once. Throws ConfigError for
/// parameters of another network; std::logic_error on a device that does not compute.
std::vector<float> log_posteriors(backend::Device& device, const TrainingData& source, std::span<const float> parameters,
                                  data::Subset subset);

/// Logarithms of the shares of the classes among the labels of the training set, [classes]; a class that has none counts as
/// if it had one. From posteriors they make what a hidden Markov model wants, likelihoods but for a factor (Bourlard and
/// Morgan, Connectionist Speech Recognition, 1994).
std::vector<double> log_priors(const data::Dataset& dataset);

}  // namespace paragrad::train
