#include "strategies/model_averaging.hpp"

#include "backend/kernels/scale.hpp"

namespace paragrad::strategies {

double total_samples(comm::Communicator& comm, std::size_t samples) {
  double total = static_cast<double>(samples);
  comm::sum_in_rank_order(comm, {&total, 1});
  return total;
}

void reduce_to_mean(comm::Communicator& comm, const comm::Allreduce& allreduce, std::span<float> values, std::size_t samples,
                    double total) {
  // Weights are proportional to samples; usually all are equal, and then only the owned part of the sum is touched.
  const double workers = comm.size();
  const auto weight = static_cast<float>(static_cast<double>(samples) * workers / total);
  if (weight != 1) comm.run(backend::Scale{weight, values});
  allreduce.reduce_scatter(comm, values);
  const core::Range owned = allreduce.owned(comm, values.size());
  comm.run(backend::Scale{static_cast<float>(1 / workers), owned.of(values)});
}

void reset_local_momentum(comm::Worker& worker, Replica& replica) {
  worker.run_kernels([&](backend::KernelQueue& queue) { replica.optimiser.forget(queue); });
}

void ModelExchangeOptions::describe(core::OptionList& list) {
  CollectiveOptions::describe(list);
  list.uses("balance");
}

void ResetOptions::describe(core::OptionList& list) {
  list.group("Block updates");
  list.flag("reset-local-momentum", reset_local_momentum, "reset the workers' momentum at each synchronisation");
}

void AveragingOptions::describe(core::OptionList& list) {
  ModelExchangeOptions::describe(list);
  ResetOptions::describe(list);
}

Remarks explain_collective(const std::string& collective, const comm::Allreduce& allreduce, const Extent& extent) {
  if (extent.communicator == nullptr || extent.workers == 1) return {};
  return {.collective = comm::explain_collective(collective, allreduce, *extent.communicator, extent.parameters)};
}

void ModelAveraging::synchronise(comm::Worker& worker, Replica& replica, std::size_t samples) {
  if (worker.size() == 1) return;
  const double total = total_samples(worker.comm(), samples);
  if (total == 0) return;
  reduce_to_mean(worker.comm(), *allreduce_, replica.parameters, samples, total);
  allreduce_->all_gather(worker.comm(), replica.parameters);
  if (options_.reset_local_momentum) reset_local_momentum(worker, replica);
}

StrategyEntry model_averaging_entry() {
  return entry_of<ModelAveraging, AveragingOptions>({.name = "model_averaging",
                                                     .summary = "average the local models once per block",
                                                     .source = "Zinkevich et al., NIPS 2010",
                                                     .formula = "W = sum over workers of n_i W_i / sum of n_i"});
}

}  // namespace paragrad::strategies
