#pragma once

#include "dist/strategy.hpp"

namespace paragrad::dist {

/// Leaves the mean of the local models, weighted by the samples that each worker processed, at its owners: an allreduce's
/// first half. Returns this worker's range; elsewhere the parameters are undefined until they are gathered. Nobody processed
/// anything: returns nothing and changes nothing.
std::optional<core::Range> reduce_to_mean(comm::Worker& worker, const comm::Allreduce& allreduce,
                                          std::span<float> parameters, std::size_t samples);

/// Forgets what the local optimiser remembers of the way to a model that is not the worker's any more.
void reset_local_momentum(comm::Worker& worker, Replica& replica);

/// Model averaging: once per block, all workers go on from the mean of their models. Weights are the samples processed, so
/// a short split counts for less and a worker without data for nothing. A lone worker agrees with itself: nothing moves.
class ModelAveraging : public Strategy {
 public:
  explicit ModelAveraging(const StrategyOptions& options)
      : allreduce_(comm::make_allreduce(options.collective)), reset_local_momentum_(options.reset_local_momentum) {}

  Share share() const override { return Share::block; }
  void synchronise(comm::Worker& worker, Replica& replica, std::size_t samples) override;

 private:
  std::unique_ptr<comm::Allreduce> allreduce_;
  bool reset_local_momentum_;
};

}  // namespace paragrad::dist
