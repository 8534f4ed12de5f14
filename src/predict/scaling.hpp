#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/json.hpp"
#include "predict/limit.hpp"
#include "predict/timing_run.hpp"
#include "sim/fitting/interval.hpp"

namespace paragrad::predict {

/// A training on one of several numbers of workers.
struct ScalingPoint {
  TimingRun run;
  sim::fitting::Row row;
  double rate = 0;
  TimingRun::Times times;
  Limit limit;
  std::optional<sim::fitting::Uncertainty> sure;

  double speed_up(const ScalingPoint& first) const { return times.samples_per_s / first.times.samples_per_s; }
  double efficiency(const ScalingPoint& first) const { return speed_up(first) * first.run.workers() / run.workers(); }
};

/// simulation: its options. minibatch_per_worker: instead of its minibatch; 0: as that says. Throws ConfigError.
ScalingPoint scaling_point(SimulationArguments simulation, const sim::Platform& platform, int workers,
                           std::size_t minibatch_per_worker);

/// Prints the table, the knee, the memory that a device needs, and which measurement would narrow the intervals most.
/// samples: of an epoch, for its cost; 0: unknown.
void print_scaling(const std::vector<ScalingPoint>& points, const sim::Platform& platform, std::size_t samples);

/// The same with full precision.
core::Json scaling_json(const std::vector<ScalingPoint>& points, const sim::Platform& platform);

}  // namespace paragrad::predict
