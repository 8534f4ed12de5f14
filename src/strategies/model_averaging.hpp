#pragma once

#include "strategies/strategy.hpp"

namespace paragrad::strategies {

/// Sums `samples` over all workers.
double total_samples(comm::Worker& worker, std::size_t samples);

/// Reduces the values to their mean over the workers, weighted by the samples each processed, at the owners: the first half
/// of an allreduce. Elsewhere the values are undefined until all_gather. total: see total_samples; above 0.
void reduce_to_mean(comm::Worker& worker, const comm::Allreduce& allreduce, std::span<float> values, std::size_t samples,
                    double total);

/// Resets the local optimiser's state, which belongs to a model that the worker no longer has.
void reset_local_momentum(comm::Worker& worker, Replica& replica);

/// Model averaging: after each block all workers continue from the mean of their models. The mean is weighted by the samples
/// processed, so a short split counts less and a worker without data not at all. With a single worker nothing changes.
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
