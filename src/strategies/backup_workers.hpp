#pragma once

#include "strategies/async_sgd.hpp"

namespace paragrad::strategies {

/// Synchronous SGD with backup workers (Chen, Pan, Monga, Bengio and Jozefowicz, arXiv 1604.00981, 2016): the gradients of
/// the first N - b workers to be done with a version of the parameters are added up, in the order in which they come, and
/// make one update of all their samples; those that come later are dropped, and nobody waits for the slowest b.
///
/// Which gradients count must be the same for all parameters, so one server holds them all: with --servers 1 a rank of its
/// own, else that of worker 0. Towards the end of an epoch, when fewer than N - b are left, all of those count.
class BackupWorkers : public AsyncSgd {
 public:
  explicit BackupWorkers(const StrategyOptions& options);

 protected:
  std::unique_ptr<Policy> make_policy(int workers) const override;
  bool holds_fetches() const override { return true; }
  std::size_t shards(int) const override { return 1; }
  void check(int workers) const override;
};

}  // namespace paragrad::strategies
