#include "strategies/diloco.hpp"

#include "backend/kernels/add.hpp"
#include "backend/kernels/copy.hpp"
#include "backend/kernels/momentum_update.hpp"
#include "backend/kernels/scale.hpp"

namespace paragrad::strategies {

DiLoCo::DiLoCo(const StrategyOptions& options)
    : OuterOptimiser({.name = "outer",
                      .collective = options.collective,
                      .momentum = options.outer_momentum,
                      .learning_rate = options.outer_learning_rate,
                      .reset_local_momentum = false}) {}

void DiLoCo::outer_step(comm::Worker& worker, const Part& part, double /*local_rate*/) {
  worker.run_kernels([&](backend::KernelQueue& queue) {
    const std::span<float> gradient = part.average;  // in its place
    queue.run(backend::Scale{-1, gradient});
    queue.run(backend::Add{part.model, gradient});
    queue.run(backend::MomentumUpdate{static_cast<float>(settings().learning_rate), static_cast<float>(settings().momentum),
                                      true, 0, gradient, part.momentum, part.model});
    queue.run(backend::Copy{part.model, part.average});
  });
}

}  // namespace paragrad::strategies
