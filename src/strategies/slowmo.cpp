#include "backend/kernels/block_filter.hpp"
#include "strategies/outer_optimiser.hpp"

namespace paragrad::strategies {
namespace {

struct SlowMoOptions : OuterOptions, ResetOptions {
  double momentum = 0.5;     // β
  double learning_rate = 1;  // α

  void describe(core::OptionList& list) {
    OuterOptions::describe(list);
    ResetOptions::describe(list);
    list.number("slow-momentum", momentum, core::below_one, "momentum coefficient of the averaged update");
    list.number("slow-learning-rate", learning_rate, core::above_zero,
                "slow learning rate, as a multiple of the local learning rate");
  }
};

/// SlowMo (Wang, Tantia, Ballas and Rabbat, ICLR 2020), with the mean x_avg of the models at the end of a block and the
/// learning rate γ at its beginning:
///
///   u(t) = β u(t-1) + (x(t-1) - x_avg(t))/γ;  x(t) = x(t-1) - αγ u(t)
///
/// u is in units of the gradient, so its effect shrinks with the learning rate; BMUF's Δ keeps the old one. The stored state
/// is s = -αγu, which makes this BMUF's filter with a different momentum: s(t) = β γ(t)/γ(t-1) s(t-1) + α (x_avg(t) -
/// x(t-1)), x(t) = x(t-1) + s(t). Only the ratio of rates matters, not their unit.
///
/// One worker with β = 0 is Lookahead (Zhang et al., NeurIPS 2019).
class SlowMo : public OuterOptimiser {
 public:
  SlowMo(const SlowMoOptions& options, const StrategyContext& context)
      : OuterOptimiser({.name = "slow",
                        .momentum = options.momentum,
                        .learning_rate = options.learning_rate,
                        .reset_local_momentum = options.reset_local_momentum},
                       options, context) {}

  void start(comm::Worker& worker, Replica& replica) override;
  void describe_state(core::StateView& state) override;

 private:
  void outer_step(comm::Worker& worker, const OuterPart& part, double local_rate) override;

  double rate_ = 0;  // γ of the previous block; 0: there was none
};

void SlowMo::start(comm::Worker& worker, Replica& replica) {
  OuterOptimiser::start(worker, replica);
  rate_ = 0;
}

void SlowMo::outer_step(comm::Worker& worker, const OuterPart& part, double local_rate) {
  const double carried = rate_ > 0 ? settings().momentum * local_rate / rate_ : settings().momentum;
  rate_ = local_rate;
  worker.run(backend::BlockFilter{static_cast<float>(carried), static_cast<float>(settings().learning_rate), 0, 0,
                                  part.average, part.model, part.momentum});
}

void SlowMo::describe_state(core::StateView& state) {
  OuterOptimiser::describe_state(state);
  state.add("slow_rate", rate_, core::Rescale::equal);
}

}  // namespace

StrategyEntry slowmo_entry() {
  return entry_of<SlowMo, SlowMoOptions>({.name = "slowmo",
                                          .summary = "slow momentum on the averaged update, in units of the gradient",
                                          .source = "Wang et al., ICLR 2020",
                                          .formula = "u = beta u + (x - mean of the local models) / rate\n"
                                                     "x = x - alpha rate u"});
}

}  // namespace paragrad::strategies
