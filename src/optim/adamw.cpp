#include "optim/adam.hpp"
#include "optim/optimiser_context.hpp"

namespace paragrad::optim {

std::unique_ptr<LocalOptimiser> make_adamw(const OptimiserContext& from) {
  return std::make_unique<Adam>(from.options, from.device, from.parameters, true);
}

}  // namespace paragrad::optim
