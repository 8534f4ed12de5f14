#pragma once

#include "strategies/async_sgd.hpp"

namespace paragrad::strategies {

/// Synchronous SGD with backup workers (Chen, Pan, Monga, Bengio and Jozefowicz, arXiv 1604.00981, 2016): for each version
/// of the parameters, the first N - b gradients to arrive are summed in order of arrival and make one update of all their
/// samples; later ones are dropped. So no update waits for the b slowest workers.
///
/// The same gradients must count for all parameters, so one server holds them all: with one server (servers = 1) a dedicated
/// rank, otherwise that of worker 0. Near the end of an epoch, when fewer than N - b workers are left, all of these count.
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
