#pragma once

#include "backend/update_rule.hpp"
#include "optim/local_optimiser.hpp"

namespace paragrad::optim {

/// The arguments from which a rule is constructed; see make_optimiser.
struct OptimiserContext {
  const OptimiserOptions& options;
  backend::Device& device;
  std::span<const core::Matrix> layout;
  std::size_t parameters;
  bool bare_gradient;
};

/// The numbers that the user chose, or else the rule's own. Throws ConfigError: β outside [0, 1), ε not above 0 though the
/// rule has one.
backend::RuleNumbers numbers_of(const OptimiserOptions& options, const backend::RuleNumbers& defaults);

// make_<name>, each in <name>.cpp, of elementwise rules in elementwise_rules.cpp
#define OPTIMISER(known, options_used, description) \
  std::unique_ptr<LocalOptimiser> make_##known(const OptimiserContext& from);
#include "optim/catalogue.def"
#undef OPTIMISER

}  // namespace paragrad::optim
