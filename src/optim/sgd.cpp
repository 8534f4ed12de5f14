#include "optim/in_place.hpp"
#include "optim/ingredients.hpp"

namespace paragrad::optim {

std::unique_ptr<LocalOptimiser> make_sgd(const Ingredients& from) {
  return std::make_unique<InPlace>(from.device, from.parameters, false);
}

}  // namespace paragrad::optim
