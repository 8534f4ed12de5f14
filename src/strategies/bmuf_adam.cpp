#include <array>
#include <cmath>

#include "backend/kernels/copy.hpp"
#include "backend/kernels/moment_filter.hpp"
#include "core/errors.hpp"
#include "strategies/bmuf.hpp"

namespace paragrad::strategies {
namespace {

/// BMUF for workers that use Adam (Chen, Ding and Huo, ICASSP 2020): the block filter moves the workers' starting point
/// further than their steps did, and the moments have to match.
///
/// In a block the moments go from m (the same for all workers) to m_i, keeping past = β^τ of themselves over τ steps; the
/// gradients seen average to E = (mean m_i - past m)/(1 - past). The mean over workers is weighted by samples, as for the
/// models (and past is the mean of β^τ if workers took different numbers of steps). The filter amounts to more or fewer
/// steps with E:
///
///   ρ(t) = η ρ(t-1) + ζ τ                      steps contained in Δ(t)
///   d = ρ(t) + η ρ(t) - η ρ(t-1)               steps from one starting point to the next (nbm: ζτ + ηρ(t))
///   m = β^d m + (1 - β^d) E;  steps += d       for β1 and the first moment, β2 and the second
///
/// cbm has d = ρ(t), nbm_cntk (1+η) ρ(t). For nbm and ζ = 1 this is what the paper and its public implementation compute.
/// The local momentum is never reset. Without a filter (one worker without block momentum) it is plain Adam.
///
/// Three allreduces per block; state 4/N of a model per worker.
class BmufAdam : public Bmuf {
 public:
  explicit BmufAdam(const BlockFilterOptions& options) : Bmuf({options, false}) {}

  /// Throws ConfigError if the local optimiser has no moments.
  void start(comm::Worker& worker, Replica& replica) override;
  void synchronise(comm::Worker& worker, Replica& replica, std::size_t samples) override;
  void describe_state(core::StateView& state) override;

 private:
  core::Arena first_;          // first moment at the starting point, [owned]
  core::Arena second_;         // second moment, likewise
  double start_steps_ = 0;     // of the starting point
  double filtered_steps_ = 0;  // ρ
};

optim::Moments moments_of(Replica& replica) {
  const auto moments = replica.optimiser.moments();
  if (!moments) throw core::ConfigError("the strategy 'bmuf_adam' filters Adam's moments: choose `optimiser` adam or adamw");
  return *moments;
}

void BmufAdam::start(comm::Worker& worker, Replica& replica) {
  const optim::Moments moments = moments_of(replica);
  Bmuf::start(worker, replica);
  start_steps_ = *moments.steps;
  filtered_steps_ = 0;
  if (!filters()) return;
  first_ = worker.device().allocate(owned().size());
  second_ = worker.device().allocate(owned().size());
  worker.run(backend::Copy{owned().of(moments.first), first_.span()},
             backend::Copy{owned().of(moments.second), second_.span()});
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
    reduce_to_mean(worker.comm(), allreduce(), moment, samples, total);
    worker.run(backend::MomentFilter{past, std::pow(beta, moved), of_squares, owned().of(moment), base});
    allreduce().all_gather(worker.comm(), moment);
  };
  filter(moments.first, first_.span(), sums[2] / total, moments.beta1, false);
  filter(moments.second, second_.span(), sums[3] / total, moments.beta2, true);
  *moments.steps = start_steps_ += moved;
}

void BmufAdam::describe_state(core::StateView& state) {
  Bmuf::describe_state(state);
  if (!filters()) return;
  state.add("block_first_moment", first_.span(), {owned()});
  state.add("block_second_moment", second_.span(), {owned()});
  state.add("block_start_steps", start_steps_, core::Rescale::equal);
  state.add("block_filtered_steps", filtered_steps_, core::Rescale::equal);
}

}  // namespace

StrategyEntry bmuf_adam_entry() {
  return entry_of<BmufAdam, BlockFilterOptions>({.name = "bmuf_adam",
                                                 .summary = "bmuf that also filters Adam's moments",
                                                 .source = "Chen, Ding and Huo, ICASSP 2020"});
}

}  // namespace paragrad::strategies
