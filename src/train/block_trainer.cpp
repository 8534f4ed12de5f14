#include "train/block_trainer.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "backend/kernels/scale.hpp"
#include "core/format.hpp"
#include "train/diverged.hpp"
#include "train/time_breakdown.hpp"

namespace paragrad::train {

void Sums::describe_state(core::StateView& state) {
  state.add("loss", loss, core::Rescale::sum);
  state.add("errors", errors, core::Rescale::sum);
  state.add("samples", samples, core::Rescale::sum);
}

BlockTrainer::BlockTrainer(comm::Worker& worker, const TrainingOptions& options, const TrainingData& source,
                           const MakeLearner& make_learner, std::size_t largest_minibatch, TimeBreakdown& times)
    : worker_(worker),
      options_(options),
      source_(source),
      times_(times),
      strategy_(make_strategy(options)),
      exchange_(dynamic_cast<strategies::ExchangingStrategy*>(strategy_.get())),
      served_(dynamic_cast<strategies::ServedStrategy*>(strategy_.get())),
      meeting_(dynamic_cast<strategies::MeetingStrategy*>(strategy_.get())),
      step_sizes_(options, source.scored_per_sample()),
      learner_(make_learner(worker.device(), largest_minibatch, exchanges())),
      stages_(
          learner_->stages(exchange_ != nullptr ? exchange_->stage_elements() : std::numeric_limits<std::size_t>::max())),
      replica_{learner_->parameters(), learner_->layout(), {}, learner_->optimiser(), {}, 0, &learner_->memory()},
      losses_(worker.device()) {
  for (const Learner::Stage& stage : stages_) stage_elements_.push_back(stage.elements);
  replica_.stages = stage_elements_;
  if (worker.device().computes() && !learner_->talks() && !source.samples_differ())
    cost_ = std::make_unique<LearnerCost>(*learner_, worker.device().call_times(), source.all_alike());
}

void BlockTrainer::begin_epoch(const EpochSetting& setting) {
  setting_ = setting;
  learner_->begin_epoch(setting.epoch);
  if (!setting.alone) strategy_->begin_epoch(worker_, replica_, setting.epoch);
}

double BlockTrainer::train(const BlockPlan& plan, std::size_t position, std::size_t blocks, data::SampleStream& samples,
                           Sums& sums) {
  position_ = position;
  blocks_ = blocks;
  replica_.learning_rate = setting_.schedule->rate(static_cast<double>(position) / static_cast<double>(blocks));
  const double aggregate_before_s = times_.aggregate_s;
  double block_s = 0;
  {
    const ScopedTimer block(worker_, core::Activity::block, block_s);
    train_minibatches(plan, samples, sums);
    if (!setting_.alone) synchronise(plan.samples);
  }
  const double optimise_s = block_s - (times_.aggregate_s - aggregate_before_s);
  times_.optimise_s += optimise_s;
  return optimise_s;
}

void BlockTrainer::train_minibatches(const BlockPlan& plan, data::SampleStream& samples, Sums& sums) {
  minibatch_ = 0;
  if (exchanging()) return go_on(plan, plan.mine.size(), samples, sums);
  if (meeting_ != nullptr && !setting_.alone) return train_rounds(plan, samples, sums);
  // Without exchange there is nothing to wait for until the end of the block: its minibatches are one computation.
  compute(worker_, *learner_, expected_work(plan.mine), [&] { go_on(plan, plan.mine.size(), samples, sums); });
}

void BlockTrainer::train_rounds(const BlockPlan& plan, data::SampleStream& samples, Sums& sums) {
  for (std::size_t round = 0; round < plan.rounds;) {
    const std::size_t next = meeting_->next_meeting(round, plan.rounds), end = std::min(next, plan.mine.size());
    const auto minibatches = std::span(plan.mine).subspan(minibatch_, end - minibatch_);
    if (!minibatches.empty())
      compute(worker_, *learner_, expected_work(minibatches), [&] { go_on(plan, end, samples, sums); });
    const std::size_t trained = std::accumulate(minibatches.begin(), minibatches.end(), std::size_t{0});
    const ScopedTimer aggregate(worker_, core::Activity::aggregate, times_.aggregate_s);
    meeting_->meet(worker_, replica_, {.round = next, .rounds = plan.rounds, .passed = next - round, .samples = trained});
    round = next;
  }
}

void BlockTrainer::go_on(const BlockPlan& plan, std::size_t end, data::SampleStream& samples, Sums& sums) {
  for (; minibatch_ < end; ++minibatch_) {
    const std::size_t mine = plan.mine[minibatch_], together = plan.together[minibatch_];
    const double in_block = static_cast<double>(minibatch_) / static_cast<double>(plan.mine.size());
    const double rate = setting_.schedule->rate((static_cast<double>(position_) + in_block) / static_cast<double>(blocks_));
    replica_.step = exchanging() ? step_sizes_.of(rate, together) : step_sizes_.of_part(rate, mine, together);
    if (exchanging() || mine > 0)
      convert_state(exchanging() ? 1 : static_cast<double>(mine) / static_cast<double>(together));
    exchanging() ? exchange_minibatch(mine, samples, sums) : descend_minibatch(mine, samples, sums);
  }
  settle_losses(sums);
}

// A step on a part of a minibatch is as long as one on the whole, because its rate is divided by the part. What the
// optimiser has summed over the whole, or over another part, has to shrink or grow likewise.
void BlockTrainer::convert_state(double share) {
  if (share == share_) return;
  const auto factor = static_cast<float>(share / share_);
  core::StateView state;
  learner_->optimiser().describe_state(state);
  worker_.run_kernels([&](backend::KernelQueue& queue) {
    for (const core::StateView::Array& array : state.arrays)
      if (array.grows_with == core::GrowsWith::share) queue.run(backend::Scale{factor, array.values});
  });
  share_ = share;
}

void BlockTrainer::descend_minibatch(std::size_t mine, data::SampleStream& samples, Sums& sums) {
  Minibatch minibatch(*learner_, worker_.device(), samples, mine);
  losses_.enter(minibatch.descend(replica_.step, losses_.next_slot()), minibatch_);
  if (losses_.full()) settle_losses(sums);
}

void BlockTrainer::exchange_minibatch(std::size_t mine, data::SampleStream& samples, Sums& sums) {
  const auto costs = cost_ ? cost_->gradient(stages_, mine) : std::vector<backend::WorkMeter>(stages_.size());
  Minibatch minibatch(*learner_, worker_.device(), samples, mine);
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    compute(worker_, *learner_, costs[stage], [&] {
      const std::size_t scored = minibatch.gradient(stages_[stage], replica_.step, losses_.next_slot());
      if (stage > 0) return;
      losses_.enter(scored, minibatch_);
      settle_losses(sums);  // before any result is sent
    });
    exchange_->gradient_ready(worker_, replica_, stages_[stage].elements);
  }
  const ScopedTimer aggregate(worker_, core::Activity::aggregate, times_.aggregate_s);
  exchange_->step(worker_, replica_);
}

void BlockTrainer::synchronise(std::size_t samples) {
  if (exchanging()) return strategy_->synchronise(worker_, replica_, samples);  // each minibatch was a synchronisation
  const ScopedTimer aggregate(worker_, core::Activity::aggregate, times_.aggregate_s);
  strategy_->synchronise(worker_, replica_, samples);
}

void BlockTrainer::settle_losses(Sums& sums) {
  losses_.settle([&](const backend::LossSum& loss, std::size_t scored, std::size_t minibatch) {
    take_in(loss, scored, minibatch, sums);
  });
}

void BlockTrainer::take_in(const backend::LossSum& loss, std::size_t scored, std::size_t minibatch, Sums& sums) const {
  if (!std::isfinite(loss.loss) && !setting_.trial)
    throw Diverged(
        core::format("the loss became {} on worker {} in epoch {}, block {}, minibatch {}: lower the learning rate",
                     std::abs(loss.loss), worker_.rank(), setting_.epoch, position_ + 1, minibatch + 1));
  sums.loss += loss.loss;
  sums.errors += static_cast<double>(loss.errors);
  sums.samples += static_cast<double>(scored);
}

backend::WorkMeter BlockTrainer::expected_work(std::span<const std::size_t> minibatches) {
  backend::WorkMeter work;
  if (!cost_) return work;
  std::size_t repeated = 0;  // of the same size as the first: usually all but the last
  while (repeated < minibatches.size() && minibatches[repeated] == minibatches[0]) ++repeated;
  if (repeated > 0) work += cost_->descend(minibatches[0]) * repeated;
  for (const std::size_t size : minibatches.subspan(repeated)) work += cost_->descend(size);
  return work;
}

}  // namespace paragrad::train
