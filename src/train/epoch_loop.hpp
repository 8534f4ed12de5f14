#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "train/balance.hpp"
#include "train/block_trainer.hpp"
#include "train/input/worker_input.hpp"

namespace paragrad::train {

/// Trains the blocks of an epoch in their order; the samples of the next block are loaded meanwhile.
class EpochLoop {
 public:
  /// times: accumulates the time spent waiting for data.
  EpochLoop(comm::Worker& worker, const TrainingOptions& options, const WorkerInput& input, BlockTrainer& blocks,
            TimeBreakdown& times);

  /// A part of an epoch.
  struct Extent {
    std::size_t first_block = 0;
    std::size_t samples = 0;  ///< approximate number over all workers; 0: to the end
  };
  struct Progress {
    std::size_t done = 0;     ///< blocks of the epoch done so far
    std::size_t blocks = 0;   ///< blocks in the epoch
    std::size_t samples = 0;  ///< in the block just done, over all workers
  };

  /// Adds to `sums`; calls after_block after each block.
  void run(const EpochSetting& setting, const Extent& extent, Sums& sums,
           const std::function<void(const Progress&)>& after_block);

  /// Of a worker in an epoch, on average.
  double minibatches(const EpochSetting& setting) const;

  void describe_state(core::StateView& state) { balance_.describe_state(state); }

  double data_wait_s() const { return samples_->waited_s(); }

 private:
  /// What to train next, and the progress when it is done. Without a plan there is nothing left, but other workers may have
  /// made progress.
  struct Work {
    std::optional<BlockPlan> plan{};
    std::size_t position = 0;  // of the block
    Progress progress{};
  };
  std::function<Work()> blocks_in_order(const EpochSetting& setting, const Extent& extent);
  std::function<Work()> splits_as_taken(const EpochSetting& setting);

  std::vector<std::uint32_t> order(int epoch) const;

  /// This worker's part of a block: the block trained next or, if `ahead`, the one after it.
  BlockPlan plan(const EpochSetting& setting, std::size_t block, bool ahead) const;
  PlanOptions plan_options(const EpochSetting& setting) const;
  void await_data();

  comm::Worker& worker_;
  const TrainingOptions& options_;
  const TrainingData& source_;
  BlockTrainer& blocks_;
  TimeBreakdown& times_;
  std::unique_ptr<data::SampleStream> samples_;
  Balance balance_;
};

}  // namespace paragrad::train
