#pragma once

#include <string>
#include <vector>

#include "core/philox.hpp"
#include "optim/local_optimiser.hpp"
#include "support.hpp"

namespace paragrad::optim::testing {

inline constexpr int steps = 6;

inline double gradient_of(int step, std::size_t i) {
  return core::RandomStream(1, core::Purpose::generator, static_cast<std::uint32_t>(step)).normal(i);
}
inline Step step_of(int step) { return {.rate = step < 3 ? 0.1f : 0.05f, .samples = samples}; }

/// Where the parameters 0, 0.1, 0.2, … are after these steps by the formulas of the rule, in double.
std::vector<double> formula(const std::string& name, double momentum, double decay);

}  // namespace paragrad::optim::testing
