#pragma once

#include <cstdint>
#include <memory>

#include "core/philox.hpp"
#include "sim/compute/speed_profile.hpp"
#include "sim/platform.hpp"

namespace paragrad::sim {

/// How fast one worker computes as time goes by: a platform's noise and the faults of this worker.
///
/// Noise stretches a time by exp(rank_sigma |z_rank| + step_sigma |z_step|), z standard normal: a device's efficiency is
/// that of an undisturbed one, from which it can only fall, so more noise never makes a run shorter. The numbers depend on
/// (seed, rank, number of the computation) alone.
class Pace {
 public:
  /// channel: other computations of the same worker, with numbers of their own.
  Pace(const Platform& platform, int rank, int channel);

  /// Time that a computation takes which begins at `start` and takes `nominal` undisturbed; until the worker's death at
  /// most. Rises with `nominal`.
  Time of_computation(Time start, Time nominal, std::uint64_t computation) const;

  /// The same without noise: what a worker does within a collective operation.
  Time of_reduction(Time start, Time nominal) const;

  Time death() const { return death_; }  ///< or never

 private:
  double rank_exponent_;
  double step_sigma_;
  core::RandomStream steps_;
  std::uint64_t first_computation_;
  std::unique_ptr<SpeedProfile> faults_;  // none for nearly all workers
  Time death_ = never;
};

}  // namespace paragrad::sim
