#include "optim/fused_momentum.hpp"
#include "optim/optimiser_context.hpp"

namespace paragrad::optim {

std::unique_ptr<LocalOptimiser> make_sgd(const OptimiserContext& from) {
  return std::make_unique<FusedMomentum>(from.device, from.parameters, false);
}

}  // namespace paragrad::optim
