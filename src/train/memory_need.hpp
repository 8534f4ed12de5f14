#pragma once

#include "backend/kernels.hpp"
#include "train/input/training_data.hpp"

namespace paragrad::train {

/// The least memory in bytes that the replicas of `workers` take, or their parts of these
/// (TrainingOptions::tensor_parallel): parameters, gradient and what the optimiser remembers. Activations and what the
/// strategy remembers come on top.
double least_memory_bytes(const TrainingOptions& options, const nn::Network& network, int workers);

/// Throws ConfigError where that is certainly more than this process can get for its `workers`. Nothing is required of a
/// device that does not compute or has a memory of its own.
void require_memory(const backend::Device& device, const TrainingOptions& options, const TrainingData& source, int workers);

}  // namespace paragrad::train
