#pragma once

#include <cstddef>

#include "optim/local_optimiser.hpp"

namespace paragrad::optim {

/// The rule delayed_nesterov whose momentum takes a step after `every` steps.
OptimiserOptions delayed_nesterov(std::size_t every);

}  // namespace paragrad::optim
