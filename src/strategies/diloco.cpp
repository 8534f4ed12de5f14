#include "strategies/diloco.hpp"

namespace paragrad::strategies {

DiLoCo::DiLoCo(const StrategyOptions& options)
    : OuterOptimiser({.name = "outer",
                      .collective = options.collective,
                      .momentum = options.outer_momentum,
                      .learning_rate = options.outer_learning_rate,
                      .reset_local_momentum = false}) {}

void DiLoCo::outer_step(comm::Worker& worker, const Part& part, double /*local_rate*/) {
  worker.run_kernels([&](backend::Device& device) {
    const std::span<float> gradient = part.average;  // in its place
    device.scale(-1, gradient);
    device.add(part.model, gradient);
    device.momentum_update(static_cast<float>(settings().learning_rate), static_cast<float>(settings().momentum), true, 0,
                           gradient, part.momentum, part.model);
    device.copy(part.model, part.average);
  });
}

}  // namespace paragrad::strategies
