#pragma once

#include <span>
#include <string>

#include "runs/finished_run.hpp"

namespace paragrad::runs {

/// For each pair of a simulated and a measured (wall-clock) run of the same training, on any device and platform, a line
/// with the ratios of predicted to measured times. Empty if there is no such pair.
std::string predictions(std::span<const FinishedRun> runs);

}  // namespace paragrad::runs
