#pragma once

#include <span>
#include <vector>

#include "comm/worker.hpp"
#include "train/input/worker_input.hpp"

namespace paragrad::train {

/// Outputs of a network, before any softmax, for the rows of a subset in file order. A recurrent network processes the
/// chunks that its sequences are cut into, and a row's outputs come from the chunk in which it is scored.
///
/// Collective: the workers take the batches in turn and send their rows to worker 0, which returns [rows][outputs], the same
/// bits for any number of workers; the others return nothing. Memory: all rows at once on worker 0, a batch on the others.
/// Throws ConfigError for parameters of another network; std::logic_error on a device that does not compute.
std::vector<float> outputs_of(comm::Worker& worker, const WorkerInput& input, std::span<const float> parameters,
                              data::Subset subset);

/// Log-posteriors of a network for each class: log-softmax of these outputs, computed in double.
std::vector<float> log_posteriors(comm::Worker& worker, const WorkerInput& input, std::span<const float> parameters,
                                  data::Subset subset);

/// Logarithms of the class frequencies among the labels of the training set, [classes]; a class without labels counts as if
/// it had one. A label counts by the weight of its sample. Dividing posteriors by the priors gives the scaled likelihoods
/// that a hidden Markov model needs (Bourlard and Morgan, Connectionist Speech Recognition, 1994).
std::vector<double> log_priors(const data::Dataset& dataset);

}  // namespace paragrad::train
