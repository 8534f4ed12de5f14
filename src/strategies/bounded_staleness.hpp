#pragma once

#include "strategies/async_sgd.hpp"

namespace paragrad::strategies {

/// Asynchronous SGD with bounded staleness, the stale synchronous parallel model of Ho et al. (NIPS 2013): a worker that
/// requests parameters and is more than s gradients ahead of the slowest worker waits for it. s = 0 is lock step; without a
/// bound it is async_sgd. A worker that has reached the end of the epoch blocks no other worker.
class BoundedStaleness : public AsyncSgd {
 public:
  using AsyncSgd::AsyncSgd;

 protected:
  std::unique_ptr<Policy> make_policy(int workers) const override;
  bool holds_fetches() const override { return true; }
};

}  // namespace paragrad::strategies
