#pragma once

#include <functional>

#include "train/block_trainer.hpp"
#include "train/feed.hpp"

namespace paragrad::train {

/// Takes the blocks of a sweep in their order; the samples of the next are loaded while one is trained.
class SweepWalk {
 public:
  /// times: where waiting for data is added.
  SweepWalk(comm::Worker& worker, const Options& options, const Source& source, BlockTrainer& blocks, PhaseTimes& times);

  /// What part of a sweep.
  struct Extent {
    std::size_t first_block = 0;
    std::size_t samples = 0;  ///< of all workers, about; 0: to the end
  };
  struct Progress {
    std::size_t done = 0;     ///< blocks of the sweep
    std::size_t blocks = 0;   ///< that the sweep has
    std::size_t samples = 0;  ///< of the block just done, of all workers
  };

  /// Adds to `sums`; calls after_block after each block.
  void run(const SweepSetting& setting, const Extent& extent, Sums& sums,
           const std::function<void(const Progress&)>& after_block);

  double data_wait_s() const { return feed_.waited_s(); }

 private:
  std::vector<std::uint32_t> order(int sweep) const;
  std::size_t samples_of(std::size_t block) const { return source_.partition->block_range(block).size(); }
  void take_splits(const SweepSetting& setting, Sums& sums, const std::function<void(const Progress&)>& after_block);
  void await_data();

  comm::Worker& worker_;
  const Options& options_;
  const Source& source_;
  BlockTrainer& blocks_;
  PhaseTimes& times_;
  Feed feed_;
  NextBatch next_;
};

}  // namespace paragrad::train
