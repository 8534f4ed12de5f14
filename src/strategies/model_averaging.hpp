#pragma once

#include "strategies/strategy.hpp"

namespace paragrad::strategies {

/// Of all workers together.
double total_samples(comm::Worker& worker, std::size_t samples);

/// Leaves the mean of the workers' values, weighted by the samples that each processed, at its owners: an allreduce's first
/// half. Elsewhere the values are undefined until they are gathered. total: see total_samples; above 0.
void reduce_to_mean(comm::Worker& worker, const comm::Allreduce& allreduce, std::span<float> values, std::size_t samples,
                    double total);

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

}  // namespace paragrad::strategies
