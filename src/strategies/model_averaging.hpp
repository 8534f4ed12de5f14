#pragma once

#include "strategies/strategy.hpp"

namespace paragrad::strategies {

/// Sums `samples` over all workers.
double total_samples(comm::Communicator& comm, std::size_t samples);

/// Reduces the values to their mean over the workers, weighted by the samples each processed, at the owners: the first half
/// of an allreduce. Elsewhere the values are undefined until all_gather. total: see total_samples; above 0.
void reduce_to_mean(comm::Communicator& comm, const comm::Allreduce& allreduce, std::span<float> values, std::size_t samples,
                    double total);

/// Options of strategies that sum models.
struct ModelExchangeOptions : comm::CollectiveOptions {
  void describe(core::OptionList& list);
};

/// How models are summed, and why, unless the collective's name says it all.
Remarks explain_collective(const std::string& collective, const comm::Allreduce& allreduce, const Extent& extent);

/// Resets the local optimiser's state, which belongs to a model that the worker no longer has.
void reset_local_momentum(comm::Worker& worker, Replica& replica);

/// The option of strategies that may reset the local optimisers.
struct ResetOptions {
  bool reset_local_momentum = true;  ///< at each synchronisation that changed the model

  void describe(core::OptionList& list);
};

/// Options of strategies that average models.
struct AveragingOptions : ModelExchangeOptions, ResetOptions {
  void describe(core::OptionList& list);
};

/// Model averaging: after each block all workers continue from the mean of their models. The mean is weighted by the samples
/// processed, so a short split counts less and a worker without data not at all. With a single worker nothing changes.
class ModelAveraging : public Strategy {
 public:
  explicit ModelAveraging(const AveragingOptions& options)
      : Strategy(Share::block), options_(options), allreduce_(comm::make_allreduce(options.collective)) {}

  Remarks explain(const Extent& extent) const override {
    return explain_collective(options_.collective, *allreduce_, extent);
  }
  void synchronise(comm::Worker& worker, Replica& replica, std::size_t samples) override;

 private:
  AveragingOptions options_;
  std::unique_ptr<comm::Allreduce> allreduce_;
};

}  // namespace paragrad::strategies
