#include "core/errors.hpp"
#include "optim/ingredients.hpp"

namespace paragrad::optim {
namespace {

std::size_t parameters_of(std::span<const core::Matrix> layout) { return layout.empty() ? 0 : layout.back().range().end; }

}  // namespace

std::unique_ptr<LocalOptimiser> make_optimiser(const OptimiserOptions& options, backend::Device& device,
                                               std::span<const core::Matrix> layout, bool bare_gradient) {
  const Ingredients ingredients{options, device, layout, parameters_of(layout), bare_gradient};
#define OPTIMISER(known, heeds_momentum, description) \
  if (options.name == #known) return make_##known(ingredients);
#include "optim/catalogue.def"
#undef OPTIMISER
  throw core::unknown_name("optimiser", options.name, optimiser_names());
}

std::vector<std::string> optimiser_names() {
  return {
#define OPTIMISER(known, heeds_momentum, description) #known,
#include "optim/catalogue.def"
#undef OPTIMISER
  };
}

bool heeds_momentum(std::string_view name) {
#define OPTIMISER(known, heeds, description) \
  if (name == #known) return heeds;
#include "optim/catalogue.def"
#undef OPTIMISER
  throw core::unknown_name("optimiser", name, optimiser_names());
}

}  // namespace paragrad::optim
