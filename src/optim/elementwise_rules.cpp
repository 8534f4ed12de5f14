#include "backend/all_kernels.hpp"
#include "optim/elementwise_rule.hpp"

namespace paragrad::optim {

#define UPDATE_RULE(name, Rule, options, description)                         \
  std::unique_ptr<LocalOptimiser> make_##name(const OptimiserContext& from) { \
    return std::make_unique<ElementwiseRule<backend::Rule>>(from);            \
  }
#include "backend/update_rules.def"
#undef UPDATE_RULE

}  // namespace paragrad::optim
