#pragma once

#include "comm/compression/gradient_sum.hpp"
#include "core/arena.hpp"
#include "strategies/strategy.hpp"

namespace paragrad::strategies {

/// Options of strategies that exchange gradients.
struct GradientOptions {
  std::size_t bucket_bytes = 0;  ///< minimum size of gradients exchanged at once; 0: all
  bool overlap = true;           ///< exchange a bucket during the backward pass
  std::string compression = "none";
  bool buffered = false;  ///< apply a gradient one minibatch late, exchanging it meanwhile

  void describe(core::OptionList& list);
};

/// Synchronous data-parallel SGD: each worker computes the gradient of its part of the minibatch, and all workers apply the
/// sum. For any number of workers the result equals that of one worker, up to the order of float additions and the
/// compression error of comm::GradientSum.
///
/// The gradient is exchanged in buckets: layers are collected, from the last, until they hold bucket_bytes (tensor fusion,
/// Sergeev and Del Balso, arXiv 1802.05799, 2018); larger layers are cut into about equal parts of bucket_bytes to twice
/// that. With overlap a full bucket is reduced while the layers below compute their gradients (Das et al., arXiv 1602.06709,
/// 2016); without it the same buckets are reduced afterwards, to the same bits.
///
/// Buffered (double buffering, Seide et al., Interspeech 2014): a gradient is exchanged during the whole next minibatch and
/// applied one minibatch late, with the learning rate of its own minibatch. show_model(), at the end of an epoch, applies
/// the last one.
class DataParallel : public ExchangingStrategy {
 public:
  DataParallel(const GradientOptions& options, const StrategyContext& context);

  bool exchanges(int workers) const override { return workers > 1; }
  Remarks explain(const Extent& extent) const override;
  std::size_t stage_elements() const override { return bucket_elements_; }
  void start(comm::Worker& worker, Replica& replica) override;
  void gradient_ready(comm::Worker& worker, Replica& replica, core::Range range) override;
  void step(comm::Worker& worker, Replica& replica) override;
  void show_model(comm::Worker& worker, Replica& replica) override;
  Remarks report(comm::Worker& worker) override;
  void describe_state(core::StateView& state) override;

 private:
  std::vector<core::Range> buckets_of(const Replica& replica, core::Range stage) const;
  void launch(comm::Worker& worker, core::Range bucket, std::span<float> gradient);
  void step_late(comm::Worker& worker, Replica& replica);
  void update(comm::Worker& worker, Replica& replica, const optim::Step& step);

  std::unique_ptr<comm::GradientSum> sum_;
  std::size_t bucket_elements_;
  bool overlap_;
  bool buffered_;
  std::size_t announced_ = 0;         // elements of the current minibatch
  std::vector<core::Range> waiting_;  // buckets to be reduced in step()

  core::Arena travelling_;       // buffered: the gradient of the previous minibatch; after a join() the sum
  optim::Step travelling_step_;  // the step to apply it with
  double travels_ = 0;           // 1: there is one
};

}  // namespace paragrad::strategies
