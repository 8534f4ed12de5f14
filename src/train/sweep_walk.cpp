#include "train/sweep_walk.hpp"

#include <algorithm>
#include <cmath>

#include "train/phase.hpp"

namespace paragrad::train {
namespace {

/// The first minibatches of a block, `share` of them.
void shorten(BlockPlan& plan, double share) {
  const auto steps = static_cast<std::size_t>(std::ceil(share * static_cast<double>(plan.mine.size())));
  plan.mine.resize(std::min(steps, plan.mine.size()));
  plan.together.resize(plan.mine.size());
  plan.samples = 0;
  for (const std::size_t samples : plan.mine) plan.samples += samples;
  if (!plan.rows.empty()) plan.rows.resize(plan.samples);
}

}  // namespace

SweepWalk::SweepWalk(comm::Worker& worker, const Options& options, const Source& source, BlockTrainer& blocks,
                     PhaseTimes& times)
    : worker_(worker),
      options_(options),
      source_(source),
      blocks_(blocks),
      times_(times),
      feed_(source, data::Subset::train, worker, options, blocks.learner().largest_batch()),
      next_([this](std::size_t n) { return feed_.next(n); }) {}

std::vector<std::uint32_t> SweepWalk::order(int sweep) const {
  auto order = block_order(options_.seed, sweep, source_.partition->blocks());
  if (options_.max_blocks > 0) order.resize(std::min(order.size(), options_.max_blocks));
  return order;
}

void SweepWalk::run(const SweepSetting& setting, const Extent& extent, Sums& sums,
                    const std::function<void(const Progress&)>& after_block) {
  blocks_.begin_sweep(setting);
  if (blocks_.idle()) return;
  if (blocks_.takes_splits()) return take_splits(setting, sums, after_block);
  const auto order = this->order(setting.sweep);
  std::size_t left = extent.samples == 0 ? source_.partition->samples() : extent.samples;
  const auto next_plan = [&](std::size_t position) {
    if (position == order.size() || left == 0) return BlockPlan{};
    BlockPlan plan = blocks_.plan(order[position], position > extent.first_block);
    const std::size_t samples = samples_of(order[position]);
    if (left < samples) shorten(plan, static_cast<double>(left) / static_cast<double>(samples));
    left -= std::min(left, samples);
    feed_.prefetch(plan.samples, plan.rows);
    return plan;
  };
  std::size_t position = extent.first_block;
  bool more = position < order.size();
  for (BlockPlan plan = next_plan(position); more; ++position) {
    await_data();
    more = position + 1 < order.size() && left > 0;
    BlockPlan following = next_plan(position + 1);
    blocks_.train(plan, position, next_, sums);
    after_block({position + 1, order.size(), samples_of(order[position])});
    plan = std::move(following);
  }
}

// What is told of the sweep's progress is what the numbers of this worker's splits say of those of all.
void SweepWalk::take_splits(const SweepSetting& setting, Sums& sums,
                            const std::function<void(const Progress&)>& after_block) {
  const auto order = this->order(setting.sweep);
  const std::size_t splits = source_.partition->workers(), all = order.size() * splits;
  const std::size_t samples = source_.partition->samples() * order.size() / source_.partition->blocks();
  struct Taken {
    std::size_t number;
    BlockPlan plan;
  };
  const auto take = [&] {
    Taken taken{std::min(all, blocks_.take_split()), {}};
    if (taken.number == all) return taken;
    taken.plan = blocks_.plan_split(order[taken.number / splits], taken.number % splits);
    feed_.prefetch(taken.plan.samples, taken.plan.rows);
    return taken;
  };
  std::size_t told = 0;
  const auto tell = [&](std::size_t done) {
    const core::Range part{samples * told / all, samples * done / all};
    told = done;
    after_block({done / splits, order.size(), part.size()});
  };
  for (Taken taken = take(); taken.number < all;) {
    await_data();
    Taken following = take();
    blocks_.train(taken.plan, taken.number / splits, next_, sums);
    tell(taken.number + 1);
    taken = std::move(following);
  }
  if (told < all) tell(all);
}

void SweepWalk::await_data() {
  const Phase data(worker_, core::Activity::data, times_.data_s);
  feed_.advance();
}

}  // namespace paragrad::train
