#include "strategies/outer_optimiser.hpp"

#include "backend/kernels/copy.hpp"

namespace paragrad::strategies {

OuterOptimiser::OuterOptimiser(Settings settings)
    : Strategy(Share::block), settings_(std::move(settings)), allreduce_(comm::make_allreduce(settings_.collective)) {}

void OuterOptimiser::start(comm::Worker& worker, Replica& replica) {
  owned_ = allreduce_->owned(worker.comm(), replica.parameters.size());
  model_ = worker.device().allocate(owned_.size());
  momentum_ = worker.device().allocate(owned_.size());
  worker.run(backend::Copy{owned_.of(replica.parameters), model_.span()});
}

void OuterOptimiser::synchronise(comm::Worker& worker, Replica& replica, std::size_t samples) {
  const double total = total_samples(worker, samples);
  if (total == 0) return;
  reduce_to_mean(worker, *allreduce_, replica.parameters, samples, total);
  outer_step(worker, {owned_.of(replica.parameters), model_.span(), momentum_.span()}, replica.learning_rate);
  allreduce_->all_gather(worker.comm(), replica.parameters);
  if (settings_.reset_local_momentum) reset_local_momentum(worker, replica);
}

void OuterOptimiser::describe_state(core::StateView& state) {
  state.add(settings_.name + "_model", model_.span(), {owned_});
  state.add(settings_.name + "_momentum", momentum_.span(), {owned_});
}

}  // namespace paragrad::strategies
