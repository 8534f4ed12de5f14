#include "train/epoch_loop.hpp"

#include <algorithm>
#include <utility>

#include "train/time_breakdown.hpp"

namespace paragrad::train {
namespace {

/// The first minibatches of a block, `wanted` of its `samples`.
void shorten(BlockPlan& plan, std::size_t wanted, std::size_t samples) {
  plan.mine.resize((wanted * plan.mine.size() + samples - 1) / samples);
  plan.together.resize(plan.mine.size());
  plan.rounds = (wanted * plan.rounds + samples - 1) / samples;
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
  PlanOptions plan = plan_options(setting);
  if (setting.alone && !plan.shuffle && partition.kind() != data::random_kind)
    plan.shuffle = sample_order(options_.seed, 0);  // or else one worker's data would follow another's
  if (setting.alone) return plan_block(partition, block, strategies::Share::minibatch, setting.minibatch, 0, 1, plan);
  plan.counts_rounds = strategies::strategy_entry(options_.strategy).replicas_differ;
  if (options_.balance) plan.part_of = [&](std::size_t length) { return balance_.part_of(length, worker_.rank(), ahead); };
  return plan_block(partition, block, blocks_.strategy().share(), setting.minibatch, worker_.rank(), worker_.size(), plan);
}

double EpochLoop::minibatches(const EpochSetting& setting) const {
  const data::Partition& partition = *source_.partition;
  const bool shared = setting.alone || blocks_.strategy().share() == strategies::Share::minibatch;
  const std::size_t splits = shared ? 1 : partition.workers();
  std::size_t all = 0;
  for (const std::uint32_t block : order(setting.epoch))
    for (std::size_t split = 0; split < splits; ++split) {
      const std::size_t samples = (shared ? partition.block_range(block) : partition.split_range(block, split)).size();
      const std::size_t whole = setting.minibatch == 0 ? 1 : (samples + setting.minibatch - 1) / setting.minibatch;
      all += options_.max_steps > 0 ? std::min(options_.max_steps, whole) : whole;
    }
  return static_cast<double>(all) / (shared ? 1 : worker_.size());
}

PlanOptions EpochLoop::plan_options(const EpochSetting& setting) const {
  PlanOptions plan{.max_steps = options_.max_steps};
  if (options_.shuffle) plan.shuffle = sample_order(options_.seed, setting.epoch);
  return plan;
}

void EpochLoop::run(const EpochSetting& setting, const Extent& extent, Sums& sums,
                    const std::function<void(const Progress&)>& after_block) {
  blocks_.begin_epoch(setting);
  if (setting.alone && worker_.rank() != 0) return;
  const bool takes_splits = !setting.alone && blocks_.strategy().share() == strategies::Share::epoch;
  const std::function<Work()> planned = takes_splits ? splits_as_taken(setting) : blocks_in_order(setting, extent);
  const auto next = [&] {
    Work work = planned();
    if (work.plan) samples_->prefetch({work.plan->samples, work.plan->rows, static_cast<std::uint32_t>(setting.epoch)});
    return work;
  };
  Work work = next();
  while (work.plan) {
    await_data();
    Work following = next();
    const double seconds = blocks_.train(*work.plan, work.position, work.progress.blocks, *samples_, sums);
    if (!setting.alone) balance_.measured(worker_.comm(), static_cast<double>(work.plan->samples), seconds);
    after_block(work.progress);
    work = std::move(following);
  }
  if (work.progress.samples > 0) after_block(work.progress);
}

std::function<EpochLoop::Work()> EpochLoop::blocks_in_order(const EpochSetting& setting, const Extent& extent) {
  return [this, &setting, order = order(setting.epoch), first = extent.first_block, position = extent.first_block,
          left = extent.samples == 0 ? source_.partition->samples() : extent.samples]() mutable -> Work {
    if (position == order.size() || left == 0) return {};
    const std::size_t block = order[position], samples = source_.partition->block_range(block).size();
    BlockPlan plan = this->plan(setting, block, position > first);
    if (left < samples) shorten(plan, left, samples);
    left -= std::min(left, samples);
    const std::size_t at = position++;
    return {std::move(plan), at, {position, order.size(), samples}};
  };
}

// The progress of the epoch is estimated from the numbers of this worker's splits.
std::function<EpochLoop::Work()> EpochLoop::splits_as_taken(const EpochSetting& setting) {
  return [this, &setting, order = order(setting.epoch), told = std::size_t{0}]() mutable -> Work {
    const data::Partition& partition = *source_.partition;
    const std::size_t splits = partition.workers(), all = order.size() * splits;
    const std::size_t samples = partition.samples() * order.size() / partition.blocks();
    const std::size_t number = std::min(all, blocks_.served()->take(worker_)), done = std::min(all, number + 1);
    const core::Range part{samples * std::exchange(told, done) / all, samples * done / all};
    Work work{.plan = {}, .position = number / splits, .progress = {done / splits, order.size(), part.size()}};
    if (number < all)
      work.plan = plan_block(partition, order[work.position], strategies::Share::block, setting.minibatch,
                             static_cast<int>(number % splits), worker_.size(), plan_options(setting));
    return work;
  };
}

void EpochLoop::await_data() {
  const ScopedTimer data(worker_, core::Activity::data, times_.data_s);
  samples_->advance();
}

}  // namespace paragrad::train
