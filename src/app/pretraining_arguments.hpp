#pragma once

#include "app/command.hpp"
#include "train/training_options.hpp"

namespace paragrad::app {

/// Options for pretraining hidden layers as restricted Boltzmann machines.
void add_pretraining_options(CLI::App& parser, train::PretrainingOptions& options);

}  // namespace paragrad::app
