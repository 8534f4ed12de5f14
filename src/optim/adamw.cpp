#include "optim/adam.hpp"
#include "optim/optimiser_context.hpp"

namespace paragrad::optim {

OptimiserEntry adamw_entry() {
  return entry_of(
      {.name = "adamw", .summary = "Adam with decoupled weight decay", .source = "Loshchilov and Hutter, ICLR 2019"},
      [](const OptimiserContext& from, const RuleOptions& options) {
        return std::make_unique<Adam>(options.numbers(), from.device, from.parameters, true);
      },
      RuleOptions{Adam::published});
}

}  // namespace paragrad::optim
