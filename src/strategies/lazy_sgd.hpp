#pragma once

#include "strategies/async_sgd.hpp"

namespace paragrad::strategies {

/// Asynchronous SGD in which a worker pushes only significant updates: gradients are accumulated until their step is large
/// relative to the parameters, |rate·Σg| >= c·|w|, or until those of lazy_minibatches minibatches are held back. This is
/// Gaia's significance filter (Hsieh et al., NSDI 2017), applied to the norm of the whole vector instead of each parameter.
/// (LAG, Chen et al., NeurIPS 2018, compares with the last gradient sent, which the server reuses; with random minibatches
/// the two gradients differ by their noise.)
class LazySgd : public AsyncSgd {
 public:
  explicit LazySgd(const StrategyOptions& options);

 protected:
  bool due(comm::Worker& worker, Replica& replica) override;
  bool goes_ahead() const override { return true; }
};

}  // namespace paragrad::strategies
