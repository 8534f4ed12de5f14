#include "optim/ingredients.hpp"
#include "optim/velocity_apart.hpp"

namespace paragrad::optim {

std::unique_ptr<LocalOptimiser> make_nesterov(const Ingredients& from) {
  return std::make_unique<VelocityApart>(from.device, from.parameters, true);
}

}  // namespace paragrad::optim
