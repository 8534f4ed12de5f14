#pragma once

#include "data/dataset.hpp"
#include "nn/model.hpp"
#include "train/training_options.hpp"

namespace paragrad::train {

/// Throws ConfigError: a network that is not a stack of RBMs, or options that do not fit it.
void check_pretraining(const TrainingOptions& options, const nn::Graph& network);

/// Throws ConfigError if binomial units would get values outside [0, 1]. Checks the first samples only.
void check_pretraining_data(const TrainingOptions& options, const data::Dataset& dataset);

}  // namespace paragrad::train
