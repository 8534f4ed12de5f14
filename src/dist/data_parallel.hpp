#pragma once

#include "dist/strategy.hpp"

namespace paragrad::dist {

/// Synchronous data-parallel SGD: each worker computes the gradient of its part of the minibatch, the sum over the workers
/// is what everyone applies. Equal to one worker up to the order of float additions, whatever their number.
class DataParallel : public Strategy {
 public:
  explicit DataParallel(const StrategyOptions& options) : allreduce_(comm::make_allreduce(options.collective)) {}

  Share share() const override { return Share::minibatch; }
  bool exchanges_gradients(int workers) const override { return workers > 1; }
  void step(comm::Worker& worker, Replica& replica) override;

 private:
  std::unique_ptr<comm::Allreduce> allreduce_;
};

}  // namespace paragrad::dist
