#include "train/epoch_loop.hpp"

#include <algorithm>
#include <cmath>

#include "train/time_breakdown.hpp"

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

EpochLoop::EpochLoop(comm::Worker& worker, const TrainingOptions& options, const WorkerInput& input, BlockTrainer& blocks,
                     TimeBreakdown& times)
    : worker_(worker),
      options_(options),
      source_(input.source),
      blocks_(blocks),
      times_(times),
      samples_(input.open(worker.device(), data::Subset::train, blocks.learner().largest_batch())),
      balance_(worker.size(), options.balance) {}

std::vector<std::uint32_t> EpochLoop::order(int epoch) const {
  auto order = block_order(options_.seed, epoch, source_.partition->blocks());
  if (options_.max_blocks > 0) order.resize(std::min(order.size(), options_.max_blocks));
  return order;
}

BlockPlan EpochLoop::plan(const EpochSetting& setting, std::size_t block, bool ahead) const {
  const data::Partition& partition = *source_.partition;
  if (setting.alone)
    return plan_block(partition, block, strategies::Share::minibatch, setting.minibatch, 0, 1, options_.max_steps);
  PartOf part_of;
  if (options_.balance) part_of = [&](std::size_t length) { return balance_.part_of(length, worker_.rank(), ahead); };
  return plan_block(partition, block, blocks_.strategy().share(), setting.minibatch, worker_.rank(), worker_.size(),
                    options_.max_steps, part_of);
}

void EpochLoop::run(const EpochSetting& setting, const Extent& extent, Sums& sums,
                    const std::function<void(const Progress&)>& after_block) {
  blocks_.begin_epoch(setting);
  if (setting.alone && worker_.rank() != 0) return;
  if (!setting.alone && blocks_.strategy().share() == strategies::Share::epoch)
    return take_splits(setting, sums, after_block);
  const auto order = this->order(setting.epoch);
  std::size_t left = extent.samples == 0 ? source_.partition->samples() : extent.samples;
  const auto next_plan = [&](std::size_t position) {
    if (position == order.size() || left == 0) return BlockPlan{};
    BlockPlan plan = this->plan(setting, order[position], position > extent.first_block);
    const std::size_t samples = samples_of(order[position]);
    if (left < samples) shorten(plan, static_cast<double>(left) / static_cast<double>(samples));
    left -= std::min(left, samples);
    samples_->prefetch({plan.samples, plan.rows});
    return plan;
  };
  std::size_t position = extent.first_block;
  bool more = position < order.size();
  for (BlockPlan plan = next_plan(position); more; ++position) {
    await_data();
    more = position + 1 < order.size() && left > 0;
    BlockPlan following = next_plan(position + 1);
    const double seconds = blocks_.train(plan, position, *samples_, sums);
    if (!setting.alone) balance_.measured(worker_.comm(), static_cast<double>(plan.samples), seconds);
    after_block({position + 1, order.size(), samples_of(order[position])});
    plan = std::move(following);
  }
}

// The reported progress of the epoch is estimated from the numbers of this worker's splits.
void EpochLoop::take_splits(const EpochSetting& setting, Sums& sums,
                            const std::function<void(const Progress&)>& after_block) {
  const auto order = this->order(setting.epoch);
  const std::size_t splits = source_.partition->workers(), all = order.size() * splits;
  const std::size_t samples = source_.partition->samples() * order.size() / source_.partition->blocks();
  struct Taken {
    std::size_t number;
    BlockPlan plan;
  };
  const auto take = [&] {
    Taken taken{std::min(all, blocks_.served()->take(worker_)), {}};
    if (taken.number == all) return taken;
    taken.plan = plan_block(*source_.partition, order[taken.number / splits], strategies::Share::block, setting.minibatch,
                            static_cast<int>(taken.number % splits), worker_.size(), options_.max_steps);
    samples_->prefetch({taken.plan.samples, taken.plan.rows});
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
    blocks_.train(taken.plan, taken.number / splits, *samples_, sums);
    tell(taken.number + 1);
    taken = std::move(following);
  }
  if (told < all) tell(all);
}

void EpochLoop::await_data() {
  const ScopedTimer data(worker_, core::Activity::data, times_.data_s);
  samples_->advance();
}

}  // namespace paragrad::train
