#include "train/plan.hpp"

#include <algorithm>

#include "core/philox.hpp"
#include "core/range.hpp"

namespace paragrad::train {

BlockPlan plan_block(const data::Partition& partition, std::size_t block, strategies::Share share, std::size_t minibatch,
                     int rank, int workers, std::size_t max_steps, const PartOf& part_of) {
  const bool shared = share == strategies::Share::minibatch;
  const core::Range whole = partition.block_range(block);
  core::Range all = shared ? whole : partition.split_range(block, static_cast<std::size_t>(rank));
  if (!shared && part_of) {
    const core::Range part = part_of(whole.size());
    all = {whole.begin + part.begin, whole.begin + part.end};
  }
  const std::size_t size = minibatch == 0 ? all.size() : minibatch;
  BlockPlan plan;
  for (std::size_t begin = all.begin; begin < all.end; begin += size) {
    if (max_steps > 0 && plan.mine.size() == max_steps) break;
    const std::size_t together = std::min(size, all.end - begin);
    core::Range part{0, together};
    if (shared)
      part = part_of ? part_of(together)
                     : core::part_of(together, static_cast<std::size_t>(workers), static_cast<std::size_t>(rank));
    if (partition.has_rows()) {
      const auto rows = partition.rows({begin + part.begin, begin + part.end});
      plan.rows.insert(plan.rows.end(), rows.begin(), rows.end());
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

}  // namespace paragrad::train
