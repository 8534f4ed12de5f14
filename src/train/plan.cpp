#include "train/plan.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/range.hpp"

namespace paragrad::train {
namespace {

/// Empty if the partition has no rows.
std::vector<std::uint32_t> rows_in_order(const data::Partition& partition, core::Range positions,
                                         const std::optional<core::RandomStream>& shuffle) {
  if (!partition.has_rows()) return {};
  const auto stored = partition.rows(positions);
  std::vector<std::uint32_t> rows(stored.begin(), stored.end());
  if (shuffle) shuffle->shuffle(rows, positions.begin);
  return rows;
}

/// Minibatches of the longest split of a block.
std::size_t rounds_of(const data::Partition& partition, std::size_t block, std::size_t minibatch, std::size_t max_steps) {
  std::size_t longest = 0;
  for (std::size_t worker = 0; worker < partition.workers(); ++worker)
    longest = std::max(longest, partition.split_range(block, worker).size());
  const std::size_t rounds = minibatch == 0 ? std::min<std::size_t>(longest, 1) : (longest + minibatch - 1) / minibatch;
  return max_steps > 0 ? std::min(rounds, max_steps) : rounds;
}

}  // namespace

BlockPlan plan_block(const data::Partition& partition, std::size_t block, strategies::Share share, std::size_t minibatch,
                     int rank, int workers, const PlanOptions& options) {
  const bool shared = share == strategies::Share::minibatch;
  const core::Range whole = partition.block_range(block);
  core::Range all = shared ? whole : partition.split_range(block, static_cast<std::size_t>(rank));
  if (!shared && options.part_of) {
    const core::Range part = options.part_of(whole.size());
    all = {whole.begin + part.begin, whole.begin + part.end};
  }
  const std::vector<std::uint32_t> rows = rows_in_order(partition, all, options.shuffle);
  const std::size_t size = minibatch == 0 ? all.size() : minibatch;
  BlockPlan plan;
  if (options.counts_rounds && options.part_of) throw std::logic_error("rounds are counted in splits as they were drawn");
  if (options.counts_rounds) plan.rounds = rounds_of(partition, block, minibatch, options.max_steps);
  for (std::size_t begin = 0; begin < all.size(); begin += size) {
    if (options.max_steps > 0 && plan.mine.size() == options.max_steps) break;
    const std::size_t together = std::min(size, all.size() - begin);
    core::Range part{0, together};
    if (shared)
      part = options.part_of ? options.part_of(together)
                             : core::part_of(together, static_cast<std::size_t>(workers), static_cast<std::size_t>(rank));
    if (!rows.empty()) {
      const auto first = rows.begin() + static_cast<std::ptrdiff_t>(begin + part.begin);
      plan.rows.insert(plan.rows.end(), first, first + static_cast<std::ptrdiff_t>(part.size()));
    }
    plan.samples += part.size();
    plan.mine.push_back(part.size());
    plan.together.push_back(together);
  }
  return plan;
}

std::vector<std::uint32_t> block_order(std::uint64_t seed, int epoch, std::size_t blocks) {
  return core::RandomStream(seed, core::Purpose::block_order, static_cast<std::uint32_t>(epoch))
      .permutation(static_cast<std::uint32_t>(blocks));
}

core::RandomStream sample_order(std::uint64_t seed, int epoch) {
  return {seed, core::Purpose::shuffle, static_cast<std::uint32_t>(epoch)};
}

}  // namespace paragrad::train
