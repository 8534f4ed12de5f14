#pragma once

#include "strategies/async_sgd.hpp"

namespace paragrad::strategies {

/// Asynchronous SGD with bounded staleness, the stale synchronous parallel of Ho et al. (NIPS 2013): a worker that asks for
/// parameters and has pushed more than s gradients more than the slowest waits for it. s = 0 is lock step; without a bound
/// it is async_sgd. A worker that has come to the end of the epoch holds up nobody.
class BoundedStaleness : public AsyncSgd {
 public:
  using AsyncSgd::AsyncSgd;

 protected:
  std::unique_ptr<Policy> make_policy(int workers) const override;
  bool holds_fetches() const override { return true; }
};

}  // namespace paragrad::strategies
