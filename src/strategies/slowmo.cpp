#include "strategies/slowmo.hpp"

#include "backend/kernels/block_filter.hpp"

namespace paragrad::strategies {

SlowMo::SlowMo(const StrategyOptions& options)
    : OuterOptimiser({.name = "slow",
                      .collective = options.collective,
                      .momentum = options.slow_momentum,
                      .learning_rate = options.slow_learning_rate,
                      .reset_local_momentum = options.reset_local_momentum}) {}

void SlowMo::start(comm::Worker& worker, Replica& replica) {
  OuterOptimiser::start(worker, replica);
  rate_ = 0;
}

void SlowMo::outer_step(comm::Worker& worker, const Part& part, double local_rate) {
  const double carried = rate_ > 0 ? settings().momentum * local_rate / rate_ : settings().momentum;
  rate_ = local_rate;
  worker.run_kernels([&](backend::KernelQueue& queue) {
    queue.run(backend::BlockFilter{static_cast<float>(carried), static_cast<float>(settings().learning_rate), 0, 0,
                                   part.average, part.model, part.momentum});
  });
}

void SlowMo::describe_state(core::StateView& state) {
  OuterOptimiser::describe_state(state);
  state.add("slow_rate", rate_);
}

}  // namespace paragrad::strategies
