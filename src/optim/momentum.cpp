#include "optim/in_place.hpp"
#include "optim/ingredients.hpp"
#include "optim/velocity_apart.hpp"

namespace paragrad::optim {

std::unique_ptr<LocalOptimiser> make_momentum(const Ingredients& from) {
  if (from.bare_gradient) return std::make_unique<VelocityApart>(from.device, from.parameters, false);
  return std::make_unique<InPlace>(from.device, from.parameters, from.options.has_momentum);
}

}  // namespace paragrad::optim
