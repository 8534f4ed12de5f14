#include "strategies/outer_optimiser.hpp"

#include "backend/kernels/add.hpp"
#include "backend/kernels/copy.hpp"
#include "backend/kernels/momentum_update.hpp"
#include "backend/kernels/scale.hpp"

namespace paragrad::strategies {

void OuterStepOptions::describe(core::OptionList& list) {
  list.group("Block updates");
  list.number("outer-learning-rate", learning_rate, core::above_zero,
              "outer learning rate, the weight of the averaged update");
  list.number("outer-momentum", momentum, core::below_one, "Nesterov momentum coefficient of the averaged update");
}

void OuterOptions::describe(core::OptionList& list) {
  list.uses("balance");
  StatisticsOptions::describe(list);
  OuterExchangeOptions::describe(list);
}

void nesterov_step(comm::Communicator& comm, const OuterPart& part, double rate, double momentum) {
  const std::span<float> gradient = part.average;  // in its place
  comm.run(backend::Scale{-1, gradient}, backend::Add{part.model, gradient},
           backend::MomentumUpdate{static_cast<float>(rate), static_cast<float>(momentum), true, 0, gradient, part.momentum,
                                   part.model},
           backend::Copy{part.model, part.average});
}

OuterOptimiser::OuterOptimiser(Settings settings, const OuterOptions& options, const StrategyContext& context)
    : Strategy(Share::block), settings_(std::move(settings)), exchange_(options, context), statistics_(options) {}

void OuterOptimiser::start(comm::Worker& worker, Replica& replica) {
  exchange_.start(worker.comm(), replica.layout);
  owned_ = exchange_.owned(worker.comm(), replica.parameters.size());
  statistics_.start(worker, owned_, replica.parameters.size(), exchange_.is_exact(worker.comm()));
  model_ = worker.device().allocate(owned_.size());
  momentum_ = worker.device().allocate(owned_.size());
  worker.run(backend::Copy{owned_.of(replica.parameters), model_.span()});
}

void OuterOptimiser::synchronise(comm::Worker& worker, Replica& replica, std::size_t samples) {
  const double total = total_samples(worker.comm(), samples);
  if (total == 0) return;
  statistics_.see_own(worker, replica.parameters);
  exchange_.to_mean(worker.comm(), replica.parameters, model_.span(), samples, total);
  statistics_.see_mean(worker, owned_.of(replica.parameters), model_.span(), static_cast<double>(samples) / total);
  outer_step(worker, {owned_.of(replica.parameters), model_.span(), momentum_.span()}, replica.learning_rate);
  exchange_.all_gather(worker.comm(), replica.parameters);
  if (settings_.reset_local_momentum) reset_local_momentum(worker, replica);
}

Remarks OuterOptimiser::report(comm::Worker& worker) {
  Remarks remarks = statistics_.report();
  const Remarks of_exchange = remarks_on_displacements(worker, exchange_.saturated(worker.comm()));
  remarks.lines.insert(remarks.lines.end(), of_exchange.lines.begin(), of_exchange.lines.end());
  remarks.numbers.insert(remarks.numbers.end(), of_exchange.numbers.begin(), of_exchange.numbers.end());
  return remarks;
}

void OuterOptimiser::describe_state(core::StateView& state) {
  exchange_.describe_state(state);
  statistics_.describe_state(state);
  state.add(settings_.name + "_model", model_.span(), {owned_});
  state.add(settings_.name + "_momentum", momentum_.span(), {owned_});
}

}  // namespace paragrad::strategies
