#include "optim/adam.hpp"
#include "optim/ingredients.hpp"

namespace paragrad::optim {

std::unique_ptr<LocalOptimiser> make_adamw(const Ingredients& from) {
  return std::make_unique<Adam>(from.options, from.device, from.parameters, true);
}

}  // namespace paragrad::optim
