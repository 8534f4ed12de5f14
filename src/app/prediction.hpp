#pragma once

#include <span>
#include <string>

#include "core/json.hpp"

namespace paragrad::app {

struct FinishedRun {
  std::string folder;
  core::Json manifest;
};

/// Of finished runs: wherever a simulated one and a measured one (wall clock) are the same training, on whatever device and
/// platform, one line with the predicted times over the measured ones. Prints nothing where there are no such two.
void print_predictions(std::span<const FinishedRun> runs);

}  // namespace paragrad::app
