#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/units.hpp"
#include "sim/platform.hpp"

namespace paragrad::sim::fitting {

/// Between 0 and 1, its logit is fitted; of any other positive value, its logarithm.
enum class Scale { logarithm, logit };

double to_coordinate(Scale scale, double value);
double from_coordinate(Scale scale, double coordinate);

/// A value of a platform that measurements can determine.
struct Parameter {
  std::string_view section, key;   ///< in the platform file
  std::optional<core::Unit> unit;  ///< none: a number
  Scale scale;
  double least, most;
  double usual;              ///< where the platform has none; 0: it always has one
  double spread;             ///< standard deviation of the coordinate, unless the file gives one
  bool between_nodes;        ///< without effect on the workers of one node
  double* (*in)(Platform&);  ///< null if the platform has nothing of the kind

  std::string name() const { return std::string(section) + "." + std::string(key); }
};

/// What can be fitted, in the order in which it is shown.
std::span<const Parameter> parameters();

/// The parameter of that name, or null.
const Parameter* find_parameter(std::string_view name);

/// As a platform file writes it: "9.3us", "0.62".
std::string value_text(const Parameter& parameter, double value);

}  // namespace paragrad::sim::fitting
