#pragma once

#include <optional>
#include <string>

namespace paragrad::worlds {

/// What a user knows of one device: that it trains so many samples per second ("357"), or so many at each of two sizes of
/// its minibatch ("357@50,700@400"), which tell what a step costs and what a sample does.
struct GivenRate {
  double samples_per_s = 0;             ///< 0: nothing is known; of two rates: without what a step costs
  std::optional<double> step_cost_s{};  ///< of two rates; it takes the place of the platform's
};

/// Throws ConfigError.
GivenRate parse_rate(const std::string& text);

}  // namespace paragrad::worlds
