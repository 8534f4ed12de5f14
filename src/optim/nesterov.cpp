#include "optim/optimiser_context.hpp"
#include "optim/separate_momentum.hpp"

namespace paragrad::optim {

OptimiserEntry nesterov_entry() {
  return momentum_entry_of({.name = "nesterov",
                            .summary = "Nesterov momentum",
                            .source = "Sutskever et al., ICML 2013",
                            .formula = "v = mu v + g\nw = w - rate (g + mu v)"},
                           [](const OptimiserContext& from, const MomentumOptions&) {
                             return std::make_unique<SeparateMomentum>(from.device, from.parameters, true);
                           });
}

}  // namespace paragrad::optim
