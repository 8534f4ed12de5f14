#pragma once

#include "strategies/outer_optimiser.hpp"

namespace paragrad::strategies {

/// SlowMo (Wang, Tantia, Ballas and Rabbat, ICLR 2020), with the mean x_avg of the models at the end of a block and the
/// learning rate γ of its epoch:
///
///   u(t) = β u(t-1) + (x(t-1) - x_avg(t))/γ;  x(t) = x(t-1) - αγ u(t)
///
/// u is in units of the gradient, so its effect shrinks with the learning rate; BMUF's Δ keeps the old one. The stored state
/// is s = -αγu, which makes this BMUF's filter with a different momentum: s(t) = β γ(t)/γ(t-1) s(t-1) + α (x_avg(t) -
/// x(t-1)), x(t) = x(t-1) + s(t). Only the ratio of rates matters, not their unit.
///
/// One worker with β = 0 is Lookahead (Zhang et al., NeurIPS 2019).
class SlowMo : public OuterOptimiser {
 public:
  explicit SlowMo(const StrategyOptions& options);

  void start(comm::Worker& worker, Replica& replica) override;
  void describe_state(core::StateView& state) override;

 private:
  void outer_step(comm::Worker& worker, const Part& part, double local_rate) override;

  double rate_ = 0;  // γ of the previous block; 0: there was none
};

}  // namespace paragrad::strategies
