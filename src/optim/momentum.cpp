#include "optim/fused_momentum.hpp"
#include "optim/optimiser_context.hpp"
#include "optim/separate_momentum.hpp"

namespace paragrad::optim {

OptimiserEntry momentum_entry() {
  return momentum_entry_of({.name = "momentum", .summary = "classical momentum", .formula = "v = mu v + g\nw = w - rate v"},
                           [](const OptimiserContext& from, const MomentumOptions&) -> std::unique_ptr<LocalOptimiser> {
                             if (from.bare_gradient)
                               return std::make_unique<SeparateMomentum>(from.device, from.parameters, false);
                             return std::make_unique<FusedMomentum>(from.device, from.parameters, from.options.has_momentum);
                           });
}

}  // namespace paragrad::optim
