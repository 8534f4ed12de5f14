#pragma once

#include "backend/device.hpp"
#include "train/input/training_data.hpp"

namespace paragrad::train {

/// A lower bound, in bytes, on the memory of the replicas of `workers`, or of their parts of replicas
/// (TrainingOptions::tensor_parallel): parameters, gradient and optimiser state. Activations and strategy state are extra.
double least_memory_bytes(const TrainingOptions& options, const nn::Graph& network, int workers);

/// Throws ConfigError if this bound exceeds what this process can get for its `workers`. Does not check devices that do not
/// compute or have their own memory.
void require_memory(const backend::Device& device, const TrainingOptions& options, const TrainingData& source, int workers);

}  // namespace paragrad::train
