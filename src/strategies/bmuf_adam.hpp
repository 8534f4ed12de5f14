#pragma once

#include "strategies/bmuf.hpp"

namespace paragrad::strategies {

/// BMUF for workers that use Adam (Chen, Ding and Huo, ICASSP 2020): the block filter moves the workers' starting point
/// further than their steps did, and the moments have to match.
///
/// In a block the moments go from m (the same for all workers) to m_i, keeping past = β^τ of themselves over τ steps; the
/// gradients seen average to E = (mean m_i - past m)/(1 - past). The mean over workers is weighted by samples, as for the
/// models (and past is the mean of β^τ if workers took different numbers of steps). The filter amounts to more or fewer
/// steps with E:
///
///   ρ(t) = η ρ(t-1) + ζ τ                      steps contained in Δ(t)
///   d = ρ(t) + η ρ(t) - η ρ(t-1)               steps from one starting point to the next (nbm: ζτ + ηρ(t))
///   m = β^d m + (1 - β^d) E;  steps += d       for β1 and the first moment, β2 and the second
///
/// cbm has d = ρ(t), nbm_cntk (1+η) ρ(t). For nbm and ζ = 1 this is what the paper and its public implementation compute.
/// The option reset_local_momentum has no effect. Without a filter (one worker without block momentum) it is plain Adam.
///
/// Three allreduces per block; state 4/N of a model per worker.
class BmufAdam : public Bmuf {
 public:
  explicit BmufAdam(const StrategyOptions& options);

  /// Throws ConfigError if the local optimiser has no moments.
  void start(comm::Worker& worker, Replica& replica) override;
  void synchronise(comm::Worker& worker, Replica& replica, std::size_t samples) override;
  void describe_state(core::StateView& state) override;

 private:
  core::Arena first_;          // first moment at the starting point, [owned]
  core::Arena second_;         // second moment, likewise
  double start_steps_ = 0;     // of the starting point
  double filtered_steps_ = 0;  // ρ
};

}  // namespace paragrad::strategies
