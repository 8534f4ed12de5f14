#include "optim/fused_momentum.hpp"
#include "optim/optimiser_context.hpp"
#include "optim/separate_momentum.hpp"

namespace paragrad::optim {

std::unique_ptr<LocalOptimiser> make_momentum(const OptimiserContext& from) {
  if (from.bare_gradient) return std::make_unique<SeparateMomentum>(from.device, from.parameters, false);
  return std::make_unique<FusedMomentum>(from.device, from.parameters, from.options.has_momentum);
}

}  // namespace paragrad::optim
