#pragma once

#include "dist/strategy.hpp"

namespace paragrad::dist {

/// Synchronous data-parallel SGD: each worker computes the gradient of its part of the minibatch, the sum over the workers
/// is what everyone applies. Equal to one worker up to the order of float additions, whatever their number.
///
/// The gradient is exchanged in buckets: layers, from the last, until they hold bucket_bytes (tensor fusion, Sergeev and Del
/// Balso, arXiv 1802.05799, 2018); larger ones in equal parts of bucket_bytes to twice that. With overlap a bucket that is
/// full is reduced while the layers below it compute their gradients (Das et al., arXiv 1602.06709, 2016); without it the
/// same buckets are reduced afterwards, to the same bits.
class DataParallel : public Strategy {
 public:
  explicit DataParallel(const StrategyOptions& options);

  Share share() const override { return Share::minibatch; }
  bool exchanges_gradients(int workers) const override { return workers > 1; }
  std::size_t stage_elements() const override { return bucket_elements_; }
  void gradient_ready(comm::Worker& worker, Replica& replica, core::Range range) override;
  void step(comm::Worker& worker, Replica& replica) override;

 private:
  std::unique_ptr<comm::Allreduce> allreduce_;
  std::size_t bucket_elements_;
  bool overlap_;
  std::size_t announced_ = 0;         // elements of the minibatch in hand
  std::vector<core::Range> waiting_;  // buckets to be reduced in step()
};

}  // namespace paragrad::dist
