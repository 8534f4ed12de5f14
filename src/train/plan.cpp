#include "train/plan.hpp"

#include <algorithm>

#include "core/philox.hpp"
#include "core/range.hpp"

namespace paragrad::train {

BlockPlan plan_block(const data::Partition& partition, std::size_t block, dist::Share share, std::size_t minibatch, int rank,
                     int workers) {
  const bool shared = share == dist::Share::minibatch;
  const auto all = shared ? partition.block(block) : partition.split(block, static_cast<std::size_t>(rank));
  const std::size_t size = minibatch == 0 ? all.size() : minibatch;
  BlockPlan plan;
  for (std::size_t begin = 0; begin < all.size(); begin += size) {
    const auto samples = all.subspan(begin, std::min(size, all.size() - begin));
    const core::Range part =
        shared ? core::part_of(samples.size(), static_cast<std::size_t>(workers), static_cast<std::size_t>(rank))
               : core::Range{0, samples.size()};
    const auto mine = part.of(samples);
    plan.rows.insert(plan.rows.end(), mine.begin(), mine.end());
    plan.mine.push_back(mine.size());
    plan.together.push_back(samples.size());
  }
  return plan;
}

std::vector<std::uint32_t> block_order(std::uint64_t seed, int sweep, std::size_t blocks) {
  return core::RandomStream(seed, core::Purpose::block_order, static_cast<std::uint32_t>(sweep))
      .permutation(static_cast<std::uint32_t>(blocks));
}

}  // namespace paragrad::train
