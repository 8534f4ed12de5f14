#pragma once

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

// make_<name>, each in <name>.cpp
#define OPTIMISER(known, options_used, description) \
  std::unique_ptr<LocalOptimiser> make_##known(const OptimiserContext& from);
#include "optim/catalogue.def"
#undef OPTIMISER

}  // namespace paragrad::optim
