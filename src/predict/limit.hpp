#pragma once

#include <string>

#include "predict/timing_run.hpp"

namespace paragrad::predict {

/// What limits a training: the resource of which a little more shortens its time most.
struct Limit {
  std::string name;  ///< compute, step cost, wire, latency, storage, stragglers
  double share = 0;  ///< by how many percent, for a percent more of it
};

/// By a run with more of each resource. rate: as for TimingRun::time.
Limit limit_of(const TimingRun& run, const sim::Platform& platform, double rate);

}  // namespace paragrad::predict
