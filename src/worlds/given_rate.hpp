#pragma once

#include <optional>
#include <string>

#include "core/limits.hpp"

namespace paragrad::worlds {

/// A user's measurement of one device: samples per second ("357"), or those at two sizes of the minibatch
/// ("357@50,700@400"), from which the costs of a step and of a sample follow.
struct GivenRate {
  double samples_per_s = 0;             ///< 0: nothing is known; of two rates: without what a step costs
  std::optional<double> step_cost_s{};  ///< of two rates; it takes the place of the platform's
};

inline constexpr core::Limits<double> device_rates{.least = 0, .most = 1e12};

/// Throws OptionError.
GivenRate parse_rate(const std::string& text);

}  // namespace paragrad::worlds
