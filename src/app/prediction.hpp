#pragma once

#include <span>
#include <string>

#include "core/json.hpp"

namespace paragrad::app {

struct FinishedRun {
  std::string folder;
  core::Json manifest;
};

/// For each pair of a simulated and a measured (wall-clock) run of the same training, on any device and platform, prints one
/// line with the ratios of predicted to measured times. Prints nothing if there is no such pair.
void print_predictions(std::span<const FinishedRun> runs);

}  // namespace paragrad::app
