#pragma once

#include "train/input/training_data.hpp"
#include "train/training_options.hpp"

namespace paragrad::train {

/// Checks before training that no worker takes the variance of a single value, which batch normalisation would make a
/// constant. The lengths of sequences, and shares that are measured, are checked in training.
/// workers: that share the data. Throws ConfigError.
void check_variances(const TrainingOptions& options, const TrainingData& source, int workers);

}  // namespace paragrad::train
