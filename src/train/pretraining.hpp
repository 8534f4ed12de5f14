#pragma once

#include <vector>

#include "train/train.hpp"

namespace paragrad::train {

/// The trainings that make up a run: one for each hidden layer pretrained as an RBM, from the first to the last, then that
/// of the network. All use the run's strategy.
std::vector<TrainingOptions> phases(const TrainingOptions& options);

/// Greedy layer-wise pretraining: Algorithm 2 of Ma's slides (Y. Bengio et al., NIPS 2006). Each RBM is trained like a
/// network, on the outputs of the finished RBMs below it. Its weights and hidden biases then become the layer's (Algorithm
/// 3); the output layer is initialised as without pretraining.
///
/// Returns the initial network, the same on every worker: empty on a device that does not compute, and if the resumed run
/// had already finished pretraining. Adds the times and samples of pretraining to `result`.
std::vector<float> pretrain(comm::Worker& worker, const TrainingOptions& options, const WorkerInput& input,
                            const Output& output, Result& result);

}  // namespace paragrad::train
