#include "optim/optimiser_context.hpp"
#include "optim/separate_momentum.hpp"

namespace paragrad::optim {

std::unique_ptr<LocalOptimiser> make_nesterov(const OptimiserContext& from) {
  return std::make_unique<SeparateMomentum>(from.device, from.parameters, true);
}

}  // namespace paragrad::optim
