#pragma once

#include <cstdint>
#include <memory>

#include "core/philox.hpp"
#include "sim/compute/speed_profile.hpp"
#include "sim/platform.hpp"

namespace paragrad::sim {

/// How fast one worker computes over time: the platform's noise and this worker's faults.
///
/// Noise multiplies a time by exp(rank_sigma |z_rank| + step_sigma |z_step|), z standard normal. The platform gives the
/// efficiency of an undisturbed device, and noise can only reduce it, so more noise never makes a run shorter. The factors
/// depend only on (seed, rank, number of the computation).
class Pace {
 public:
  /// channel: distinguishes concurrent computations of the same worker, which have their own random numbers.
  Pace(const Platform& platform, int rank, int channel);

  /// Time of a computation that begins at `start` and takes `nominal` if undisturbed; at most until the worker's death.
  /// Increases with `nominal`.
  Time of_computation(Time start, Time nominal, std::uint64_t computation) const;

  /// The same without noise: for additions within a collective.
  Time of_reduction(Time start, Time nominal) const;

  Time death() const { return death_; }  ///< or never

 private:
  double rank_exponent_;
  double step_sigma_;
  core::RandomStream steps_;
  std::uint64_t first_computation_;
  std::unique_ptr<SpeedProfile> faults_;  // null for nearly all workers
  Time death_ = never;
};

}  // namespace paragrad::sim
