#include "strategies/bmuf.hpp"

#include <array>
#include <cmath>

#include "backend/kernels/block_filter.hpp"
#include "backend/kernels/copy.hpp"
#include "backend/kernels/look_ahead.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::strategies {
namespace {

/// The mean over a local run's minibatches i = 1 … τ of 1-ε^(τ-i+1), the factor by which momentum from rest shortens their
/// contributions δ_b (Chen and Huo's slides, for classical momentum). Nesterov's has one more power of ε.
double momentum_share(double momentum, double steps, bool nesterov) {
  return 1 - (nesterov ? momentum : 1) * momentum * (1 - std::pow(momentum, steps)) / (steps * (1 - momentum));
}

}  // namespace

void BlockFilterOptions::describe(core::OptionList& list) {
  ModelExchangeOptions::describe(list);
  list.group("Block updates");
  list.choice("bmuf-kind", kind, {{"cbm", Kind::cbm}, {"nbm", Kind::nbm}, {"nbm_cntk", Kind::nbm_cntk}},
              "block momentum, classical (cbm), Nesterov (nbm), or Nesterov as CNTK computes it (nbm_cntk)")
      .mark(core::OptionMark::tabled);
  list.number("block-momentum", momentum, core::below_one, "block momentum coefficient, or auto for 1 - 1/N with N workers")
      .mark(core::OptionMark::rescalable)
      .when(momentum_time_constant == 0, "is replaced by `block-momentum-time-constant`: give one of them");
  list.number("block-momentum-time-constant", momentum_time_constant, core::zero_or_more,
              "time constant T of block momentum in samples per worker, which replaces the coefficient: a block of B "
              "samples per worker uses exp(-B/T) (0: off)")
      .mark(core::OptionMark::rescalable)
      .off("0");
  list.number("block-learning-rate", learning_rate, core::above_zero,
              "weight of the averaged update (with form cntk: asymptotic weight of the summed updates)")
      .mark(core::OptionMark::rescalable);
  list.choice("block-learning-rate-form", learning_rate_form, {{"paper", Form::paper}, {"cntk", Form::cntk}},
              "definition of the block learning rate, the paper's or CNTK's");
}

void BmufOptions::describe(core::OptionList& list) {
  BlockFilterOptions::describe(list);
  list.flag("reset-local-momentum", reset_local_momentum, "reset the workers' momentum at each synchronisation");
}

Bmuf::Bmuf(const BmufOptions& options)
    : Strategy(Share::block), options_(options), allreduce_(comm::make_allreduce(options.collective)) {
  if (options.momentum && options.momentum_time_constant > 0)
    throw core::ConfigError("give either a block momentum or its time constant, not both");
}

Bmuf::Coefficients Bmuf::coefficients(int workers, double samples_per_worker) const {
  const double time_constant = options_.momentum_time_constant;
  const double momentum =
      time_constant > 0 ? std::exp(-samples_per_worker / time_constant) : options_.momentum.value_or(1 - 1.0 / workers);
  const double unit = options_.learning_rate_form == BlockFilterOptions::Form::cntk ? workers * (1 - momentum) : 1;
  return {momentum, unit * options_.learning_rate};
}

Remarks Bmuf::explain(const Extent& extent) const {
  const double samples_per_worker = extent.samples / extent.blocks / extent.workers;
  const auto [momentum, rate] = coefficients(extent.workers, samples_per_worker);
  if (extent.workers == 1 && momentum == 0 && rate == 1) return {};
  Remarks remarks = explain_collective(options_.collective, *allreduce_, extent);
  const double gain = rate / (extent.workers * (1 - momentum)) * (options_.kind == Kind::nbm_cntk ? 1 + momentum : 1);
  remarks.numbers = {{"block_momentum", momentum}, {"block_learning_rate", rate}, {"block_gain", gain}};
  if (momentum == 0) {
    remarks.lines = {core::format("block momentum 0, block learning rate {:.4g}", rate)};
    return remarks;
  }
  const double time_constant = -samples_per_worker / std::log(momentum);
  const double wanted = time_constant * extent.workers;
  remarks.numbers.insert(remarks.numbers.end(),
                         {{"block_momentum_time_constant", time_constant}, {"wanted_samples", wanted}});
  remarks.lines = {
      core::format("block momentum {:.4g}, time constant {:.4g} samples per worker; block learning rate {:.4g}; total "
                   "contribution of a block: C = {:.4g} times the sum of the workers' updates",
                   momentum, time_constant, rate, gain),
      core::format("CNTK's rule: at least time constant times workers = {:.4g} samples of training data; there are {:.4g}{}",
                   wanted, extent.samples, extent.samples < wanted ? ", too few" : "")};
  const bool nesterov = extent.optimiser == "nesterov";
  if (options_.reset_local_momentum && extent.momentum > 0 && (nesterov || extent.optimiser == "momentum")) {
    const double share = momentum_share(extent.momentum, extent.local_steps, nesterov);
    remarks.numbers.insert(remarks.numbers.end(), {{"local_steps", extent.local_steps}, {"local_momentum_share", share}});
    remarks.lines.push_back(core::format(
        "momentum {:.4g} restarts from zero in every local run of {:.0f} minibatches: on average a minibatch contributes "
        "{:.2g} of what it would in a long run",
        extent.momentum, extent.local_steps, share));
  }
  return remarks;
}

void Bmuf::start(comm::Worker& worker, Replica& replica) {
  const auto [momentum, rate] = coefficients(worker.size(), 1);
  filters_ = worker.size() > 1 || momentum != 0 || rate != 1;
  look_ahead_ = momentum_ = blocks_ = pending_ = 0;
  if (!filters_) return;
  owned_ = allreduce_->owned(worker.comm(), replica.parameters.size());
  model_ = worker.device().allocate(owned_.size());
  delta_ = worker.device().allocate(owned_.size());
  worker.run(backend::Copy{owned_.of(replica.parameters), model_.span()});
}

void Bmuf::synchronise(comm::Worker& worker, Replica& replica, std::size_t samples) {
  if (!filters_) return;
  const double total = total_samples(worker.comm(), samples);
  if (total == 0) return;
  reduce_to_mean(worker.comm(), *allreduce_, replica.parameters, samples, total);
  filter(worker, owned_.of(replica.parameters), coefficients(worker.size(), total / worker.size()));
  allreduce_->all_gather(worker.comm(), replica.parameters);
  if (options_.reset_local_momentum) reset_local_momentum(worker, replica);
}

// Replaces the owned part of the mean of the models with the next starting point.
void Bmuf::filter(comm::Worker& worker, std::span<float> average, Coefficients block) {
  const auto momentum = static_cast<float>(block.momentum);
  const auto next_ahead = static_cast<float>(ahead(block));
  worker.run_kernels([&](backend::KernelQueue& queue) {
    queue.run(backend::BlockFilter{momentum, static_cast<float>(block.rate), static_cast<float>(look_ahead_), next_ahead,
                                   average, model_.span(), delta_.span()});
    if (options_.kind == Kind::nbm_cntk) queue.run(backend::Copy{average, model_.span()});
  });
  if (options_.kind == Kind::nbm) look_ahead_ = block.momentum;  // the others keep the starting point itself
  momentum_ = block.momentum;
  blocks_ += 1;
  pending_ = block.momentum * (pending_ + 1);
}

void Bmuf::describe_state(core::StateView& state) {
  if (!filters_) return;
  state.add("block_model", model_.span(), {owned_});
  state.add("block_update", delta_.span(), {owned_});
  state.add("block_look_ahead", look_ahead_, core::Rescale::equal);
  state.add("block_momentum", momentum_, core::Rescale::equal);
  state.add("filtered_blocks", blocks_, core::Rescale::equal);
  state.add("pending_updates", pending_, core::Rescale::equal);
}

Remarks Bmuf::report(comm::Worker& worker) {
  if (blocks_ == 0 || pending_ == 0) return {};
  std::array<double, 2> squares{};  // of Δ and of W
  worker.run_kernels([&](backend::KernelQueue& queue) {
    squares = {queue.squared_norm(delta_.span()), queue.squared_norm(model_.span())};
  });
  comm::sum_in_rank_order(worker.comm(), squares);  // if every worker owns everything, both are too large by the same factor
  const double gain = momentum_ / (1 - momentum_) * (options_.kind == Kind::nbm_cntk ? 1 + momentum_ : 1);
  const double part = squares[1] > 0 ? gain * std::sqrt(squares[0] / squares[1]) : 0, share = pending_ / blocks_;
  return {{core::format(
              "block momentum still holds the updates of {:.3g} blocks, {:.3g} % of all {:.0f}; they would move the model "
              "by {:.3g} % of its norm",
              pending_, 100 * share, blocks_, 100 * part)},
          {{"pending_updates", pending_}, {"pending_share", share}, {"pending_norm", part}}};
}

void Bmuf::show_model(comm::Worker& worker, Replica& replica) {
  if (!filters_ || options_.kind != Kind::nbm) return;
  worker.run(backend::Copy{model_.span(), owned_.of(replica.parameters)});
  allreduce_->all_gather(worker.comm(), replica.parameters);
}

void Bmuf::resume_work(comm::Worker& worker, Replica& replica) {
  if (!filters_ || options_.kind != Kind::nbm) return;
  worker.run(
      backend::LookAhead{static_cast<float>(look_ahead_), model_.span(), delta_.span(), owned_.of(replica.parameters)});
  allreduce_->all_gather(worker.comm(), replica.parameters);
}

StrategyEntry bmuf_entry() {
  return entry_of<Bmuf, BmufOptions>({.name = "bmuf",
                                      .summary = "blockwise model-update filtering, also called block momentum",
                                      .source = "Chen and Huo, ICASSP 2016",
                                      .formula = "G(t) = mean of the local models - Wg(t-1)\n"
                                                 "D(t) = eta D(t-1) + zeta G(t)\n"
                                                 "W(t) = W(t-1) + D(t)\n"
                                                 "Wg(t) = W(t) (cbm) or W(t) + eta D(t) (nbm)"});
}

}  // namespace paragrad::strategies
