#include "strategies/bmuf_adam.hpp"

#include <array>
#include <cmath>

#include "backend/kernels/copy.hpp"
#include "backend/kernels/moment_filter.hpp"
#include "core/errors.hpp"
#include "strategies/model_averaging.hpp"

namespace paragrad::strategies {
namespace {

StrategyOptions keeping_moments(StrategyOptions options) {
  options.reset_local_momentum = false;
  return options;
}

optim::Moments moments_of(Replica& replica) {
  const auto moments = replica.optimiser.moments();
  if (!moments) throw core::ConfigError("the strategy 'bmuf_adam' filters Adam's moments: choose --optimiser adam or adamw");
  return *moments;
}

}  // namespace

BmufAdam::BmufAdam(const StrategyOptions& options) : Bmuf(keeping_moments(options)) {}

void BmufAdam::start(comm::Worker& worker, Replica& replica) {
  const optim::Moments moments = moments_of(replica);
  Bmuf::start(worker, replica);
  start_steps_ = *moments.steps;
  filtered_steps_ = 0;
  if (!filters()) return;
  first_ = worker.device().allocate(owned().size());
  second_ = worker.device().allocate(owned().size());
  worker.run_kernels([&](backend::KernelQueue& queue) {
    queue.run(backend::Copy{owned().of(moments.first), first_.span()});
    queue.run(backend::Copy{owned().of(moments.second), second_.span()});
  });
}

void BmufAdam::synchronise(comm::Worker& worker, Replica& replica, std::size_t samples) {
  if (!filters()) return;
  const optim::Moments moments = moments_of(replica);
  const double steps = *moments.steps - start_steps_, weight = static_cast<double>(samples);
  std::array sums{weight, weight * steps, weight * std::pow(moments.beta1, steps), weight * std::pow(moments.beta2, steps)};
  comm::sum_in_rank_order(worker.comm(), sums);
  const double total = sums[0];
  if (total == 0) return;
  const Coefficients block = coefficients(worker.size(), total / worker.size());
  const double ahead_before = look_ahead() * filtered_steps_;
  Bmuf::synchronise(worker, replica, samples);
  filtered_steps_ = block.momentum * filtered_steps_ + block.rate * sums[1] / total;
  const double moved = (1 + ahead(block)) * filtered_steps_ - ahead_before;
  const auto filter = [&](std::span<float> moment, std::span<float> base, double past, double beta, bool of_squares) {
    reduce_to_mean(worker, allreduce(), moment, samples, total);
    worker.run_kernels([&](backend::KernelQueue& queue) {
      queue.run(backend::MomentFilter{past, std::pow(beta, moved), of_squares, owned().of(moment), base});
    });
    allreduce().all_gather(worker.comm(), moment);
  };
  filter(moments.first, first_.span(), sums[2] / total, moments.beta1, false);
  filter(moments.second, second_.span(), sums[3] / total, moments.beta2, true);
  *moments.steps = start_steps_ += moved;
}

void BmufAdam::describe_state(core::StateView& state) {
  Bmuf::describe_state(state);
  state.add("block_first_moment", first_.span());
  state.add("block_second_moment", second_.span());
  state.add("block_start_steps", start_steps_);
  state.add("block_filtered_steps", filtered_steps_);
}

}  // namespace paragrad::strategies
