#pragma once

#include <vector>

#include "data/dataset.hpp"
#include "nn/model.hpp"
#include "train/train.hpp"

namespace paragrad::train {

/// The trainings that make up a run: one for each hidden layer pretrained as an RBM, from the first to the last, then that
/// of the network. All use the run's strategy.
std::vector<TrainingOptions> phases(const TrainingOptions& options);

/// Throws ConfigError: options that are invalid or do not work with pretraining; a network that is not a stack of RBMs.
void check_pretraining(const TrainingOptions& options, const nn::Network& network);

/// Throws ConfigError if binomial units would get values outside [0, 1]. Checks the first samples only.
void check_pretraining_data(const TrainingOptions& options, const data::Dataset& dataset);

/// Greedy layer-wise pretraining: Algorithm 2 of Ma's slides (Y. Bengio et al., NIPS 2006). Each RBM is trained like a
/// network, on the outputs of the finished RBMs below it. Its weights and hidden biases then become the layer's (Algorithm
/// 3); the output layer is initialised as without pretraining.
///
/// Returns the initial network, the same on every worker: empty on a device that does not compute, and if the resumed run
/// had already finished pretraining. Adds the times and samples of pretraining to `result`.
std::vector<float> pretrain(comm::Worker& worker, const TrainingOptions& options, const TrainingData& source,
                            const Output& output, Result& result);

}  // namespace paragrad::train
