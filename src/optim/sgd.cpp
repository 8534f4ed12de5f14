#include "optim/fused_momentum.hpp"
#include "optim/optimiser_context.hpp"

namespace paragrad::optim {

OptimiserEntry sgd_entry() {
  return entry_of(
      {.name = "sgd", .summary = "stochastic gradient descent", .formula = "w = w - rate g"},
      [](const OptimiserContext& from) { return std::make_unique<FusedMomentum>(from.device, from.parameters, false); });
}

}  // namespace paragrad::optim
