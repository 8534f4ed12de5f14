#pragma once

#include "strategies/outer_optimiser.hpp"

namespace paragrad::strategies {

/// DiLoCo (Douillard et al., arXiv 2311.08105, 2023): an outer SGD with Nesterov momentum, in the form of torch.optim.SGD,
/// whose gradient is how far the workers went, on average, in the other direction:
///
///   g = x - x_avg;  v = μ v + g;  x = x - lr (g + μ v)
///
/// The local optimisers keep what they remember (--reset-local-momentum means nothing here). BMUF of kind nbm with η = μ and
/// ζ = lr sets out from the same points; its W is x without the look-ahead. Here x itself is the model that is evaluated and
/// saved, as there is no other in this form, nor in the implementations that are known.
class DiLoCo : public OuterOptimiser {
 public:
  explicit DiLoCo(const StrategyOptions& options);

 private:
  void outer_step(comm::Worker& worker, const Part& part, double local_rate) override;
};

}  // namespace paragrad::strategies
