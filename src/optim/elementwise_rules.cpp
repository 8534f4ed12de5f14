#include "backend/all_kernels.hpp"
#include "optim/elementwise_rule.hpp"

namespace paragrad::optim {

#define UPDATE_RULE(name, Rule, summary, source)                                            \
  OptimiserEntry name##_entry() {                                                           \
    return entry_of(                                                                        \
        {#name, "", "", summary, source},                                                   \
        [](const OptimiserContext& from, const RuleOptions& options) {                      \
          return std::make_unique<ElementwiseRule<backend::Rule>>(from, options.numbers()); \
        },                                                                                  \
        RuleOptions{backend::Rule::defaults});                                              \
  }
#include "backend/update_rules.def"
#undef UPDATE_RULE

}  // namespace paragrad::optim
