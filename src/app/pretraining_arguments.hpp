#pragma once

#include "app/command.hpp"
#include "train/training_options.hpp"

namespace paragrad::app {

/// Of the machines that hidden layers are before the network is trained.
void add_pretraining_options(CLI::App& parser, train::PretrainingOptions& options);

}  // namespace paragrad::app
