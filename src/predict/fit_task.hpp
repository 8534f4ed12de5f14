#pragma once

#include <vector>

#include "predict/measured_rows.hpp"
#include "sim/fitting/fit.hpp"

namespace paragrad::predict {

/// What is fitted: the rows as the fit sees them, and the rates that they depend on.
struct FitTask {
  std::vector<sim::fitting::Row> rows;
  std::vector<sim::fitting::Rate> rates;
  std::vector<sim::Platform::Rate> of_models;  ///< of each rate its model; the rate itself is not known yet
};

/// Throws ConfigError, with the row's place. measured: must outlive the task.
FitTask task_of(const std::vector<MeasuredRow>& measured, const sim::Platform& platform);

}  // namespace paragrad::predict
