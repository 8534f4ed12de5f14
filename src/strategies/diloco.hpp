#pragma once

#include "strategies/outer_optimiser.hpp"

namespace paragrad::strategies {

/// DiLoCo (Douillard et al., arXiv 2311.08105, 2023): an outer SGD with Nesterov momentum, in the form of torch.optim.SGD.
/// Its gradient is the negative of the workers' mean displacement:
///
///   g = x - x_avg;  v = μ v + g;  x = x - lr (g + μ v)
///
/// The local optimisers keep their state (the option reset_local_momentum has no effect). BMUF of kind nbm with η = μ and
/// ζ = lr has the same starting points; its W is x without the look-ahead. Here x itself is evaluated and saved, as this
/// form has no other model, nor have the known implementations.
class DiLoCo : public OuterOptimiser {
 public:
  explicit DiLoCo(const StrategyOptions& options);

 private:
  void outer_step(comm::Worker& worker, const Part& part, double local_rate) override;
};

}  // namespace paragrad::strategies
