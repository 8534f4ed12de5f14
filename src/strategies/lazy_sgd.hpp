#pragma once

#include "strategies/async_sgd.hpp"

namespace paragrad::strategies {

/// Asynchronous SGD in which a worker pushes only what matters: gradients are added up until the step that they would make
/// is significant beside the parameters, |rate·Σg| >= c·|w|, or until those of lazy_minibatches are kept back. That is
/// Gaia's significance filter (Hsieh et al., NSDI 2017) by the norm of the whole instead of parameter by parameter. (LAG,
/// Chen et al., NeurIPS 2018, compares with the gradient sent before and has the server use that again; with minibatches
/// that are drawn anew each time the two differ by their noise.)
class LazySgd : public AsyncSgd {
 public:
  explicit LazySgd(const StrategyOptions& options);

 protected:
  bool due(comm::Worker& worker, Replica& replica) override;
  bool goes_ahead() const override { return true; }
};

}  // namespace paragrad::strategies
