#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/philox.hpp"
#include "data/partition.hpp"
#include "strategies/strategy.hpp"

namespace paragrad::train {

/// One worker's part of a block.
struct BlockPlan {
  std::vector<std::uint32_t> rows;    ///< of the training set, in processing order; empty if the partition has none
  std::size_t samples = 0;            ///< this worker's samples
  std::vector<std::size_t> mine;      ///< this worker's samples in each minibatch; they sum to samples
  std::vector<std::size_t> together;  ///< samples in each minibatch over all workers that share it
  std::size_t rounds = 0;             ///< minibatches of the longest split, if PlanOptions::counts_rounds
};

struct PlanOptions {
  std::size_t max_steps = 0;   ///< only the first minibatches; 0: all
  bool counts_rounds = false;  ///< Share::block: look at the splits of all workers, too

  /// part_of(length): this worker's part of `length` samples of a minibatch or block; empty function: equal parts, and
  /// splits as they were drawn.
  std::function<core::Range(std::size_t)> part_of{};

  /// Reorders the samples of the block, or of this worker's part of it; none: the stored order. The order depends on the
  /// stream and on the samples' positions in the partition.
  std::optional<core::RandomStream> shuffle{};
};

/// Share::minibatch: the block's samples, in their order, cut into minibatches; each worker takes a contiguous part of
/// each, so the minibatches do not depend on the number of workers. Share::block: worker k takes split k, in its own
/// minibatches. minibatch = 0: one minibatch for the whole block (or split).
BlockPlan plan_block(const data::Partition& partition, std::size_t block, strategies::Share share, std::size_t minibatch,
                     int rank, int workers, const PlanOptions& options = {});

/// The order of the blocks in epoch `epoch` (from 1): random, the same for every strategy and number of workers.
std::vector<std::uint32_t> block_order(std::uint64_t seed, int epoch, std::size_t blocks);

/// PlanOptions::shuffle for a new order in every epoch.
core::RandomStream sample_order(std::uint64_t seed, int epoch);

}  // namespace paragrad::train
