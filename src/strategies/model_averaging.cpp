#include "strategies/model_averaging.hpp"

#include "backend/kernels/scale.hpp"

namespace paragrad::strategies {

double total_samples(comm::Worker& worker, std::size_t samples) {
  double total = static_cast<double>(samples);
  comm::sum_in_rank_order(worker.comm(), {&total, 1});
  return total;
}

void reduce_to_mean(comm::Worker& worker, const comm::Allreduce& allreduce, std::span<float> values, std::size_t samples,
                    double total) {
  // Weights are proportional to samples; usually all are equal, and then only the owned part of the sum is touched.
  const double workers = worker.size();
  const auto weight = static_cast<float>(static_cast<double>(samples) * workers / total);
  if (weight != 1) worker.run_kernels([&](backend::KernelQueue& queue) { queue.run(backend::Scale{weight, values}); });
  allreduce.reduce_scatter(worker.comm(), values);
  const core::Range owned = allreduce.owned(worker.comm(), values.size());
  worker.run_kernels([&](backend::KernelQueue& queue) {
    queue.run(backend::Scale{static_cast<float>(1 / workers), owned.of(values)});
  });
}

void reset_local_momentum(comm::Worker& worker, Replica& replica) {
  worker.run_kernels([&](backend::KernelQueue& queue) { replica.optimiser.forget(queue); });
}

void ModelAveraging::synchronise(comm::Worker& worker, Replica& replica, std::size_t samples) {
  if (worker.size() == 1) return;
  const double total = total_samples(worker, samples);
  if (total == 0) return;
  reduce_to_mean(worker, *allreduce_, replica.parameters, samples, total);
  allreduce_->all_gather(worker.comm(), replica.parameters);
  if (reset_local_momentum_) reset_local_momentum(worker, replica);
}

}  // namespace paragrad::strategies
